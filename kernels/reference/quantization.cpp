// SPDX-License-Identifier: Apache-2.0
//
// quantize and dequantize, element by element.
#include "kernels/graph/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// The packed parts of one tensor.
struct Packed {
  QuantizedPart part;
  float* words;

  float& scale(std::int64_t i) const {
    return words[i / part.elements * part.words() + i % part.elements / kQuantizedBlock];
  }
  std::uint32_t& word(std::int64_t i) const {
    const std::int64_t at = i % part.elements * part.bits / 32;
    return reinterpret_cast<std::uint32_t*>(
        words)[i / part.elements * part.words() + part.blocks() + at];
  }
  int shift(std::int64_t i) const { return static_cast<int>(i % part.elements * part.bits % 32); }
  void set_code(std::int64_t i, int code) const {
    word(i) |= (static_cast<std::uint32_t>(code) & ((1U << part.bits) - 1)) << shift(i);
  }
  float code(std::int64_t i) const {
    const auto above = static_cast<int>(32 - part.bits);
    const auto bits = static_cast<std::int32_t>(word(i) >> shift(i) << above);
    return static_cast<float>(bits >> above);
  }
};

Packed packed_of(const KernelRequest& request, const Tensor& whole, const Tensor& packed) {
  const Attributes& attributes = request.node.attributes;
  return {.part = quantized_part(whole.elements(), attributes.integer("parts"),
                                 attributes.integer("bits")),
          .words = packed.f32()};
}

KernelPointer quantize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], rest = request.outputs[1];
  const std::int64_t words = request.outputs[0].elements();
  const Packed packed = packed_of(request, x, request.outputs[0]);
  return make_kernel([=](const StepContext&) {
    const float most = largest_code(packed.part.bits);
    std::fill_n(packed.words, words, 0.0F);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const float magnitude = std::abs(x.f32()[i]) / most;
      float& scale = packed.scale(i);
      if (!(magnitude <= std::numeric_limits<float>::max())) {
        scale = std::numeric_limits<float>::quiet_NaN();
      } else if (magnitude > scale) {
        scale = magnitude;
      }
    }
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const float scale = packed.scale(i);
      float code = 0;
      if (scale > 0) code = std::clamp(std::nearbyint(x.f32()[i] / scale), -most, most);
      packed.set_code(i, static_cast<int>(code));
      rest.f32()[i] = std::fma(-code, scale, x.f32()[i]);
    }
  });
}

KernelPointer dequantize(const KernelRequest& request) {
  const Tensor y = request.outputs[0];
  std::vector<Packed> inputs;
  for (const Tensor& input : request.inputs) inputs.push_back(packed_of(request, y, input));
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      float sum = 0;
      for (const Packed& packed : inputs) sum = std::fma(packed.code(i), packed.scale(i), sum);
      y.f32()[i] = sum;
    }
  });
}

}  // namespace

KernelRows quantization_kernels() {
  return {{Op::Quantize, quantize}, {Op::Dequantize, dequantize}};
}

}  // namespace regatta::reference
