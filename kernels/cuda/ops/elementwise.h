// SPDX-License-Identifier: Apache-2.0
//
// Kernels that compute each element from the elements at the same index, 16 bytes at a time if all
// tensors are aligned to 16 bytes. A function takes f32 and returns f32, on host and device. For
// .cu files only.
#pragma once

#include <algorithm>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Body that computes y[i] = function(x[i]) for a pack of elements.
template <typename To, typename From, typename Function>
struct MapOne {
  static constexpr int kWidth = std::max(kPackWidth<To>, kPackWidth<From>);

  const From* x;
  To* y;
  std::int64_t count;
  bool aligned;
  Function function;

  __host__ __device__ void operator()(std::int64_t index) const {
    const std::int64_t first = index * kWidth;
    if (aligned && first + kWidth <= count) {
      float values[kWidth];
      load_pack(x + first, values);
      for (float& value : values) value = function(value);
      store_pack(y + first, values);
      return;
    }
    for (std::int64_t i = first; i < first + kWidth && i < count; ++i) {
      store(y[i], function(load(x[i])));
    }
  }
};

/// Body that computes y[i] = function(a[i], b[i]) for a pack of elements.
template <typename T, typename Function>
struct MapTwo {
  static constexpr int kWidth = kPackWidth<T>;

  const T* a;
  const T* b;
  T* y;
  std::int64_t count;
  bool aligned;
  Function function;

  __host__ __device__ void operator()(std::int64_t index) const {
    const std::int64_t first = index * kWidth;
    if (aligned && first + kWidth <= count) {
      float values[kWidth], others[kWidth];
      load_pack(a + first, values);
      load_pack(b + first, others);
      for (int j = 0; j < kWidth; ++j) values[j] = function(values[j], others[j]);
      store_pack(y + first, values);
      return;
    }
    for (std::int64_t i = first; i < first + kWidth && i < count; ++i) {
      store(y[i], function(load(a[i]), load(b[i])));
    }
  }
};

/// Returns a kernel that launches the body for each pack of Body::kWidth of `count` elements.
template <typename Body>
KernelPointer launch_packs(const KernelRequest& request, std::int64_t count, const Body& body) {
  Queue* queue = &queue_of(request);
  const std::int64_t packs = (count + Body::kWidth - 1) / Body::kWidth;
  return make_kernel([=](const StepContext&) { for_each(*queue, packs, body); });
}

template <typename To, typename From, typename Function>
KernelPointer map_one_as(const KernelRequest& request, Function function) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return launch_packs(request, y.elements(),
                      MapOne<To, From, Function>{.x = x.as<From>(),
                                                 .y = y.as<To>(),
                                                 .count = y.elements(),
                                                 .aligned = are_aligned({x.data, y.data}),
                                                 .function = function});
}

template <typename Function>
KernelPointer map_one(const KernelRequest& request, Function function) {
  return with_element(request.outputs[0].type.element,
                      [&]<typename T>(T) { return map_one_as<T, T>(request, function); });
}

template <typename Function>
KernelPointer map_two(const KernelRequest& request, Function function) {
  const Tensor a = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  return with_element(y.type.element, [&]<typename T>(T) {
    return launch_packs(request, y.elements(),
                        MapTwo<T, Function>{.a = a.as<T>(),
                                            .b = b.as<T>(),
                                            .y = y.as<T>(),
                                            .count = y.elements(),
                                            .aligned = are_aligned({a.data, b.data, y.data}),
                                            .function = function});
  });
}

}  // namespace regatta::cuda
