// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ops/widen.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"

namespace regatta::cuda {
namespace {

template <class T>
struct Widen {
  const T* from;
  float* to;
  __host__ __device__ void operator()(std::int64_t i) const { to[i] = load(from[i]); }
};

}  // namespace

void widen(Queue& queue, const Tensor& from, float* to) {
  if (from.type.element == ElementType::F32) {
    for_each(queue, from.elements(), Widen<float>{from.f32(), to});
  } else {
    check(from.type.element == ElementType::BF16, "f32 or bf16 is widened");
    for_each(queue, from.elements(), Widen<Bf16>{from.as<Bf16>(), to});
  }
}

}  // namespace regatta::cuda
