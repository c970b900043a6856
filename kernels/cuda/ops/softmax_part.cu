// SPDX-License-Identifier: Apache-2.0
//
// softmax_part, cross_entropy_of_parts and softmax_part_backward: cross entropy over classes that
// are divided among shards; the formulas are in graph/ops/loss.cpp. A block computes one label's
// part; another block adds up the labels' losses in double.
#include <cmath>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/elementwise.h"
#include "kernels/cuda/ops/row.h"
#include "kernels/cuda/ops/total.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// One label for each block.
template <typename T>
struct SoftmaxPart {
  const T* logits;
  const std::int32_t* labels;
  float* part;
  std::int64_t count;  ///< labels
  std::int64_t offset;
  std::int64_t columns;  ///< classes of the shard

  __host__ __device__ void operator()(const Block& block) const {
    auto* most = reinterpret_cast<float*>(block.shared);
    const T* row = logits + block.index * columns;
    block.each([&](int thread) {  // NaNs may be skipped here: they are in the sums
      float largest = -INFINITY;
      for (std::int64_t k = thread; k < columns; k += block.threads) {
        largest = fmaxf(largest, load(row[k]));
      }
      most[thread] = largest;
    });
    for (int middle = block.threads / 2; middle > 0; middle /= 2) {
      block.each([&](int thread) {
        if (thread < middle) most[thread] = fmaxf(most[thread], most[thread + middle]);
      });
    }
    const float sum = sum_in_block(block, most + block.threads, columns,
                                   [&](std::int64_t k) { return expf(load(row[k]) - most[0]); });
    block.each([&](int thread) {
      if (thread != 0) return;
      const std::int64_t own = labels[block.index] - offset;
      part[block.index] = most[0];
      part[count + block.index] = sum;
      part[2 * count + block.index] = own >= 0 && own < columns ? load(row[own]) : 0.0F;
    });
  }
};

/// The log-sum and the loss of one label.
struct JoinParts {
  const float* all;
  float* log_sums;
  float* losses;
  std::int64_t count;
  std::int64_t parts;

  __host__ __device__ void operator()(std::int64_t t) const {
    const float* part = all + t;
    float largest = part[0], sum = 0, at_label = 0;
    for (std::int64_t p = 1; p < parts; ++p) largest = fmaxf(largest, part[p * 3 * count]);
    for (std::int64_t p = 0; p < parts; ++p, part += 3 * count) {
      sum += part[count] * expf(part[0] - largest);
      at_label += part[2 * count];
    }
    log_sums[t] = largest + logf(sum);
    losses[t] = logf(sum) - (at_label - largest);
  }
};

template <typename T>
struct SoftmaxPartBackward {
  const T* logits;
  const std::int32_t* labels;
  const float* log_sums;
  T* dlogits;
  std::int64_t offset;
  std::int64_t classes;
  float factor;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t t = i / classes;
    const float is_label = i % classes + offset == labels[t] ? 1.0F : 0.0F;
    store(dlogits[i], (expf(load(logits[i]) - log_sums[t]) - is_label) * factor);
  }
};

KernelPointer softmax_part(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  return with_element(logits.type.element, [&]<typename T>(T) {
    const SoftmaxPart<T> body{.logits = logits.as<T>(),
                              .labels = labels.as<std::int32_t>(),
                              .part = request.outputs[0].f32(),
                              .count = labels.elements(),
                              .offset = request.node.attributes.integer("offset"),
                              .columns = logits.type.columns()};
    return launch_rows(request, labels.elements(), body);
  });
}

KernelPointer cross_entropy_of_parts(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor log_sums = request.outputs[1];
  const auto losses = std::make_shared<Scratch>(*queue, log_sums.type.bytes());
  const JoinParts join{.all = request.inputs[0].f32(),
                       .log_sums = log_sums.f32(),
                       .losses = losses->as<float>(),
                       .count = log_sums.elements(),
                       .parts = request.node.attributes.integer("parts")};
  const Total<FloatAt> total{
      .term = {join.losses},
      .count = join.count,
      .factor = 1 / static_cast<double>(request.node.attributes.integer("divisor")),
      .result = request.outputs[0].f32()};
  return make_kernel([=, keep = losses](const StepContext&) {
    for_each(*queue, join.count, join);
    enqueue_total(*queue, total);
  });
}

KernelPointer softmax_part_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor logits = request.inputs[0];
  const Attributes& attributes = request.node.attributes;
  return with_element(logits.type.element, [&]<typename T>(T) {
    const SoftmaxPartBackward<T> body{
        .logits = logits.as<T>(),
        .labels = request.inputs[1].as<std::int32_t>(),
        .log_sums = request.inputs[2].f32(),
        .dlogits = request.outputs[0].as<T>(),
        .offset = attributes.integer("offset"),
        .classes = logits.type.columns(),
        .factor = static_cast<float>(1 / static_cast<double>(attributes.integer("divisor")))};
    return make_kernel([queue, body, count = logits.elements()](const StepContext&) {
      for_each(*queue, count, body);
    });
  });
}

}  // namespace

KernelRows softmax_part_kernels() {
  return {{Op::SoftmaxPart, softmax_part},
          {Op::CrossEntropyOfParts, cross_entropy_of_parts},
          {Op::SoftmaxPartBackward, softmax_part_backward}};
}

}  // namespace regatta::cuda
