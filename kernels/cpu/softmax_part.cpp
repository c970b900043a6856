// SPDX-License-Identifier: Apache-2.0
//
// softmax_part, cross_entropy_of_parts and softmax_part_backward: cross entropy over classes that
// are divided among shards; the formulas are in graph/ops/loss.cpp. One thread adds the labels'
// losses in double, in their order.
#include <cmath>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/softmax.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

KernelPointer softmax_part(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1], part = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset");
  const std::int64_t count = labels.elements(), classes = logits.type.columns();
  const int parts = parts_for(request.threads, logits.elements());
  return with_element(logits.type.element, [=]<typename T>(T) {
    return make_kernel([=](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const T* row = logits.as<T>() + t * classes;
          const float largest = largest_logit(row, classes);
          const double sum = sum_of_exponentials(row, classes, largest, [](auto, Lanes, auto) {});
          const std::int64_t own = labels.as<std::int32_t>()[t] - offset;
          part.f32()[t] = largest;
          part.f32()[count + t] = static_cast<float>(sum);
          part.f32()[2 * count + t] = own >= 0 && own < classes ? load(row[own]) : 0;
        }
      });
    });
  });
}

KernelPointer cross_entropy_of_parts(const KernelRequest& request) {
  const Tensor all = request.inputs[0], loss = request.outputs[0], log_sums = request.outputs[1];
  const std::int64_t parts = request.node.attributes.integer("parts");
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  const std::int64_t count = log_sums.elements();
  std::shared_ptr losses = make_buffer<double>(static_cast<std::size_t>(count));
  const int threads = parts_for(request.threads, all.elements());
  return make_kernel([=, losses = std::move(losses)](const StepContext&) {
    parallel_ranges(threads, count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const float* part = all.f32() + t;
        float largest = part[0];
        for (std::int64_t p = 1; p < parts; ++p) largest = std::max(largest, part[p * 3 * count]);
        double sum = 0, at_label = 0;
        for (std::int64_t p = 0; p < parts; ++p, part += 3 * count) {
          const float shifted = part[0] - largest;
          sum += static_cast<double>(part[count]) * std::exp(static_cast<double>(shifted));
          at_label += static_cast<double>(part[2 * count]);
        }
        const double log_sum = static_cast<double>(largest) + std::log(sum);
        log_sums.f32()[t] = static_cast<float>(log_sum);
        losses[t] = log_sum - at_label;
      }
    });
    double total = 0;
    for (std::int64_t t = 0; t < count; ++t) total += losses[t];
    *loss.f32() = static_cast<float>(total / divisor);
  });
}

KernelPointer softmax_part_backward(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  const Tensor log_sums = request.inputs[2], dlogits = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset");
  const std::int64_t count = labels.elements(), classes = logits.type.columns();
  const auto factor =
      static_cast<float>(1 / static_cast<double>(request.node.attributes.integer("divisor")));
  const int parts = parts_for(request.threads, logits.elements());
  return with_element(logits.type.element, [=]<typename T>(T) {
    return make_kernel([=](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const T* row = logits.as<T>() + t * classes;
          T* target = dlogits.as<T>() + t * classes;
          const float log_sum = log_sums.f32()[t];
          for_each_lanes(classes, [&](auto k, auto lanes) {
            const Lanes p = fast_exp_of_negative(load_lanes(row + k, lanes) - log_sum);
            store_lanes(target + k, p * factor, lanes);
          });
          const std::int64_t own = labels.as<std::int32_t>()[t] - offset;
          if (own < 0 || own >= classes) continue;
          store(target[own], (std::exp(load(row[own]) - log_sum) - 1) * factor);
        }
      });
    });
  });
}

}  // namespace

KernelRows softmax_part_kernels() {
  return {{Op::SoftmaxPart, softmax_part},
          {Op::CrossEntropyOfParts, cross_entropy_of_parts},
          {Op::SoftmaxPartBackward, softmax_part_backward}};
}

}  // namespace regatta::cpu
