// SPDX-License-Identifier: Apache-2.0
//
// Kernels that compute each element from the elements at the same index. `function` takes and
// returns f32 and must vectorise: no calls, no branches that are not selections.
#pragma once

#include "kernels/cpu/element.h"
#include "kernels/cpu/factories.h"
#include "kernels/cpu/parallel.h"

namespace regatta::cpu {

/// y[i] = function(x[i]).
template <typename Function>
KernelPointer map_one(const KernelRequest& request, Function function) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  return with_element(y.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = y.elements()](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        const T* from = x.as<T>();
        T* to = y.as<T>();
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) store(to[i], function(load(from[i])));
      });
    });
  });
}

/// y[i] = function(a[i], b[i]).
template <typename Function>
KernelPointer map_two(const KernelRequest& request, Function function) {
  const Tensor a = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  return with_element(y.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = y.elements()](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        const T* from_a = a.as<T>();
        const T* from_b = b.as<T>();
        T* to = y.as<T>();
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          store(to[i], function(load(from_a[i]), load(from_b[i])));
        }
      });
    });
  });
}

}  // namespace regatta::cpu
