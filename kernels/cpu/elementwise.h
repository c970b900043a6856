// SPDX-License-Identifier: Apache-2.0
//
// Kernels that compute each element from the elements at the same index. `function` is called with
// a value T{} of the element type and one register of f32 per operand, and returns a register
// (lanes.h).
#pragma once

#include "kernels/cpu/element.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

/// Returns a kernel that computes y[i] = function(x[i]).
template <typename Function>
KernelPointer map_one(const KernelRequest& request, Function function) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  return with_element(y.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = y.elements()](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        const T* from = x.as<T>() + begin;
        T* to = y.as<T>() + begin;
        for_each_lanes(end - begin, [&](auto i, auto lanes) {
          store_lanes(to + i, function(T{}, load_lanes(from + i, lanes)), lanes);
        });
      });
    });
  });
}

/// Returns a kernel that computes y[i] = function(a[i], b[i]).
template <typename Function>
KernelPointer map_two(const KernelRequest& request, Function function) {
  const Tensor a = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  return with_element(y.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = y.elements()](const StepContext&) {
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        const T* from_a = a.as<T>() + begin;
        const T* from_b = b.as<T>() + begin;
        T* to = y.as<T>() + begin;
        for_each_lanes(end - begin, [&](auto i, auto lanes) {
          store_lanes(to + i,
                      function(T{}, load_lanes(from_a + i, lanes), load_lanes(from_b + i, lanes)),
                      lanes);
        });
      });
    });
  });
}

}  // namespace regatta::cpu
