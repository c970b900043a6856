// SPDX-License-Identifier: Apache-2.0
//
// layer_normalize of each row: z = (x - mean) r with r = 1 / sqrt(mean of (x - mean)² + epsilon),
// y = gain z; for RMSNorm, the mean is 0. Backward, with g = dy gain:
//   dx = r (g - mean of g - z mean of (g z)), without `mean of g` for RMSNorm; dgain = sum of dy z.
// A block computes one row; dgain is a sweep of its own.
#include <cmath>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/row.h"
#include "kernels/cuda/ops/sweep.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

template <typename T>
struct LayerNormalize {
  const T* x;
  const float* gain;
  T* y;
  float* means;
  float* inverses;
  std::int64_t columns;
  bool centered;
  float epsilon;

  __host__ __device__ void operator()(const Block& block) const {
    auto* sums = reinterpret_cast<float*>(block.shared);
    const T* from = x + block.index * columns;
    T* to = y + block.index * columns;
    const auto count = static_cast<float>(columns);
    float mean = 0;
    if (centered) {
      mean = sum_in_block(block, sums, columns, [&](std::int64_t c) { return load(from[c]); });
      mean /= count;
    }
    const float squares = sum_in_block(block, sums + block.threads, columns, [&](std::int64_t c) {
      const float deviation = load(from[c]) - mean;
      return deviation * deviation;
    });
    const float inverse = 1 / sqrtf(squares / count + epsilon);
    each_column(block, columns, [&](std::int64_t c) {
      store(to[c], gain[c] * ((load(from[c]) - mean) * inverse));
    });
    block.each([&](int thread) {
      if (thread > 0) return;
      means[block.index] = mean;
      inverses[block.index] = inverse;
    });
  }
};

/// Writes dx.
template <typename T>
struct LayerNormalizeBackward {
  const T* dy;
  const T* x;
  const float* gain;
  const float* means;
  const float* inverses;
  T* dx;
  std::int64_t columns;
  bool centered;

  __host__ __device__ void operator()(const Block& block) const {
    auto* sums = reinterpret_cast<float*>(block.shared);
    const std::int64_t first = block.index * columns;
    const float mean = means[block.index], inverse = inverses[block.index];
    const auto count = static_cast<float>(columns);
    const auto g = [&](std::int64_t c) { return load(dy[first + c]) * gain[c]; };
    const auto z = [&](std::int64_t c) { return (load(x[first + c]) - mean) * inverse; };
    const float mean_g = centered ? sum_in_block(block, sums, columns, g) / count : 0.0F;
    const float mean_product = sum_in_block(block, sums + block.threads, columns,
                                            [&](std::int64_t c) { return g(c) * z(c); }) /
                               count;
    each_column(block, columns, [&](std::int64_t c) {
      store(dx[first + c], inverse * (g(c) - mean_g - z(c) * mean_product));
    });
  }
};

template <typename T, int kWidth>
struct GainSums {
  SliceSums<1, kWidth> slices;
  const T* dy;
  const T* x;
  const float* means;
  const float* inverses;

  struct Pair {
    Pack<T, kWidth> dy, x;
  };

  __host__ __device__ void operator()(const Block& block) const {
    slices.sum(block, [&](const SweepShare& mine, float(&sums)[1][kWidth]) {
      const auto read = [&](std::int64_t row) {
        const std::int64_t at = slices.sweep.offset(mine, row);
        return Pair{.dy = pack_at<kWidth>(dy + at), .x = pack_at<kWidth>(x + at)};
      };
      slices.sweep.template for_each_loaded<kPairsAtOnce>(
          mine, read, [&](std::int64_t row, const Pair& pair) {
            float gradients[kWidth], values[kWidth];
            unpack(pair.dy, gradients);
            unpack(pair.x, values);
            for (int j = 0; j < kWidth; ++j) {
              sums[0][j] += gradients[j] * ((values[j] - means[row]) * inverses[row]);
            }
          });
    });
  }
};

struct StoreGain {
  float* dgain;

  __host__ __device__ void operator()(std::int64_t, std::int64_t channel,
                                      const double (&sums)[1]) const {
    dgain[channel] = static_cast<float>(sums[0]);
  }
};

KernelPointer layer_normalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0];
  return with_element(x.type.element, [&]<typename T>(T) {
    const LayerNormalize<T> body{
        .x = x.as<T>(),
        .gain = request.inputs[1].f32(),
        .y = request.outputs[0].template as<T>(),
        .means = request.outputs[1].f32(),
        .inverses = request.outputs[2].f32(),
        .columns = x.type.columns(),
        .centered = request.node.attributes.integer("center") != 0,
        .epsilon = static_cast<float>(request.node.attributes.real("epsilon"))};
    return launch_rows(request, x.type.rows(), body);
  });
}

template <typename T, int kWidth>
KernelPointer build_layer_normalize_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const TensorType& type = request.inputs[1].type;
  const LayerNormalizeBackward<T> body{.dy = request.inputs[0].template as<T>(),
                                       .x = request.inputs[1].template as<T>(),
                                       .gain = request.inputs[2].f32(),
                                       .means = request.inputs[3].f32(),
                                       .inverses = request.inputs[4].f32(),
                                       .dx = request.outputs[0].template as<T>(),
                                       .columns = type.columns(),
                                       .centered = request.node.attributes.integer("center") != 0};
  const Sweep sweep(1, type.rows(), type.columns(), kWidth);
  const auto partial =
      std::make_shared<Scratch>(*queue, SliceSums<1, kWidth>::partial_bytes(sweep));
  const GainSums<T, kWidth> gains{
      .slices = {.sweep = sweep, .partial = partial->template as<float>()},
      .dy = body.dy,
      .x = body.x,
      .means = body.means,
      .inverses = body.inverses};
  const auto merge =
      merge_slices<1>(sweep, gains.slices.partial, StoreGain{request.outputs[1].f32()});
  const auto shared = std::max(gains.slices.kSharedBytes, merge.body.kSharedBytes);
  return make_kernel([=, rows = type.rows(), keep = partial](const StepContext&) {
    for_each_row(*queue, rows, body);
    enqueue_phases<4>(*queue, kSweepThreads, shared, Phase{sweep.blocks(), gains}, merge);
  });
}

KernelPointer layer_normalize_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1];
  return with_element(x.type.element, [&]<typename T>(T) {
    return with_width(x.type.columns(), {dy.data, x.data}, [&](auto width) {
      return build_layer_normalize_backward<T, decltype(width)::value>(request);
    });
  });
}

}  // namespace

KernelRows layer_normalize_kernels() {
  return {{Op::LayerNormalize, layer_normalize},
          {Op::LayerNormalizeBackward, layer_normalize_backward}};
}

}  // namespace regatta::cuda
