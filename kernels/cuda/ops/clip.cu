// SPDX-License-Identifier: Apache-2.0
//
// squared_norm: sum of the squares of all elements, in double: a block adds up a chunk of a value,
// another block the chunks. clip_divisor: max(1, (sqrt(x) + 1e-6) / limit).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/device/phases.h"
#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/ops/row.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

constexpr int kSquareThreads = 256;
constexpr std::int64_t kChunkElements = 16384;

struct Chunk {
  const float* x;
  std::int64_t count;
};

struct SquaresOfChunk {
  const Chunk* chunks;
  double* sums;  ///< one for each chunk

  __host__ __device__ void operator()(const Block& block) const {
    const Chunk chunk = chunks[block.index];
    const double sum = sum_in_block(block, reinterpret_cast<double*>(block.shared), chunk.count,
                                    [&](std::int64_t i) {
                                      const auto x = static_cast<double>(chunk.x[i]);
                                      return x * x;
                                    });
    block.each([&](int thread) {
      if (thread == 0) sums[block.index] = sum;
    });
  }
};

struct SumOfChunks {
  const double* sums;
  std::int64_t count;
  float* y;

  __host__ __device__ void operator()(const Block& block) const {
    const double sum = sum_in_block(block, reinterpret_cast<double*>(block.shared), count,
                                    [&](std::int64_t i) { return sums[i]; });
    block.each([&](int thread) {
      if (thread == 0) *y = static_cast<float>(sum);
    });
  }
};

KernelPointer squared_norm(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  std::vector<Chunk> chunks;
  for (const Tensor& x : request.inputs) {
    for (std::int64_t at = 0; at < x.elements(); at += kChunkElements) {
      chunks.push_back({x.f32() + at, std::min(kChunkElements, x.elements() - at)});
    }
  }
  const auto count = static_cast<std::int64_t>(chunks.size());
  const auto list = std::make_shared<Scratch>(upload<Chunk>(*queue, chunks));
  const auto sums =
      std::make_shared<Scratch>(*queue, count * static_cast<std::int64_t>(sizeof(double)));
  const Phase squares{count, SquaresOfChunk{list->as<Chunk>(), sums->as<double>()}};
  const Phase total{1, SumOfChunks{sums->as<double>(), count, request.outputs[0].f32()}};
  return make_kernel([=, keep = list, keep_sums = sums](const StepContext&) {
    enqueue_phases<4>(*queue, kSquareThreads, kSquareThreads * sizeof(double), squares, total);
  });
}

struct ClipDivisor {
  const float* x;
  float* y;
  float limit;

  __host__ __device__ void operator()(std::int64_t) const {
    const float divisor = (sqrtf(*x) + 1e-6F) / limit;
    *y = divisor < 1 ? 1.0F : divisor;  // this order keeps a NaN
  }
};

KernelPointer clip_divisor(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const ClipDivisor body{.x = request.inputs[0].f32(),
                         .y = request.outputs[0].f32(),
                         .limit = static_cast<float>(request.node.attributes.real("limit"))};
  return make_kernel([=](const StepContext&) { for_each(*queue, 1, body); });
}

}  // namespace

KernelRows clip_kernels() {
  return {{Op::SquaredNorm, squared_norm}, {Op::ClipDivisor, clip_divisor}};
}

}  // namespace regatta::cuda
