// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ops/noise.h"

#include "kernels/base/error.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"

namespace regatta::cuda {
namespace {

template <typename T>
struct Noise {
  T* to;

  /// Hashes the index by MurmurHash3's finaliser. Source: Appleby, smhasher, fmix32.
  __host__ __device__ void operator()(std::int64_t i) const {
    auto bits = static_cast<std::uint32_t>(i) + 1;
    bits = (bits ^ (bits >> 16U)) * 0x85EBCA6BU;
    bits = (bits ^ (bits >> 13U)) * 0xC2B2AE35U;
    bits ^= bits >> 16U;
    store(to[i], static_cast<float>(bits) * (2.0F / 4294967296.0F) - 1.0F);
  }
};

}  // namespace

void fill_with_noise(Queue& queue, const Tensor& tensor) {
  if (tensor.type.element == ElementType::F32) {
    return for_each(queue, tensor.elements(), Noise<float>{tensor.f32()});
  }
  check(tensor.type.element == ElementType::BF16, "noise is f32 or bf16");
  for_each(queue, tensor.elements(), Noise<Bf16>{tensor.as<Bf16>()});
}

}  // namespace regatta::cuda
