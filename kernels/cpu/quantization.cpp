// SPDX-License-Identifier: Apache-2.0
//
// quantize and dequantize. Blocks of all parts are dealt to threads; each is a few loops over at
// most 256 elements, which the compiler vectorises. Codes of 4 bits pass through codes of 8.
#include "kernels/graph/quantization.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

using Codes = std::array<std::int8_t, kQuantizedBlock>;
constexpr std::uint32_t kMagnitudeBits = 0x7fffffffU;
constexpr std::uint32_t kInfinityBits = 0x7f800000U;

/// The range of a tensor's elements in one block, and the block's place in the packed tensor.
struct Block {
  std::int64_t begin, count;
  std::int64_t scale;  ///< word
  std::int64_t codes;  ///< byte
  std::int64_t code_bytes;
};

Block block_of(const QuantizedPart& part, std::int64_t elements, std::int64_t index) {
  const std::int64_t p = index / part.blocks(), b = index % part.blocks();
  const std::int64_t first = b * kQuantizedBlock;
  const std::int64_t begin = p * part.elements + first;
  const std::int64_t here = std::min(kQuantizedBlock, part.elements - first);
  const std::int64_t end_of_codes = (part.elements * part.bits + 31) / 32 * 4;
  const std::int64_t at = first * part.bits / 8;
  const bool is_last = b + 1 == part.blocks();
  return {.begin = begin,
          .count = std::clamp<std::int64_t>(elements - begin, 0, here),
          .scale = p * part.words() + b,
          .codes = 4 * (p * part.words() + part.blocks()) + at,
          .code_bytes = is_last ? end_of_codes - at : kQuantizedBlock * part.bits / 8};
}

float scale_of(const float* x, std::int64_t count, float most) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & kMagnitudeBits);
  }
  if (largest >= kInfinityBits) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(largest) / most;
}

void quantize_block(const Tensor& x, const Tensor& packed, const Tensor& rest, const Block& block,
                    std::int64_t bits) {
  const float* const from = x.f32() + block.begin;
  float* const left = rest.f32() + block.begin;
  const float most = largest_code(bits);
  const float scale = scale_of(from, block.count, most);
  packed.f32()[block.scale] = scale;
  Codes codes{};
  if (scale > 0) {
    for (std::int64_t i = 0; i < block.count; ++i) {
      const float code = std::clamp(std::nearbyint(from[i] / scale), -most, most);
      codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(static_cast<int>(code));
      left[i] = std::fma(-code, scale, from[i]);
    }
  } else {  // 0 or NaN
    for (std::int64_t i = 0; i < block.count; ++i) left[i] = scale + from[i];
  }
  auto* const to = packed.as<std::uint8_t>() + block.codes;
  if (bits == 8) {
    std::memcpy(to, codes.data(), static_cast<std::size_t>(block.code_bytes));
    return;
  }
  for (std::int64_t i = 0; i < block.code_bytes; ++i) {
    const auto low = static_cast<std::size_t>(2 * i);
    to[i] = static_cast<std::uint8_t>((codes[low] & 15) | (codes[low + 1] << 4));
  }
}

void dequantize_block(const Tensor& packed, const Tensor& y, const Block& block,
                      std::int64_t bits) {
  const auto* const from = packed.as<std::int8_t>() + block.codes;
  const float scale = packed.f32()[block.scale];
  float* const to = y.f32() + block.begin;
  Codes codes;
  if (bits == 8) {
    std::memcpy(codes.data(), from, static_cast<std::size_t>(block.count));
  } else {
    for (std::int64_t i = 0; i < (block.count + 1) / 2; ++i) {
      const auto low = static_cast<std::size_t>(2 * i);
      codes[low] = static_cast<std::int8_t>(static_cast<std::int8_t>(from[i] << 4) >> 4);
      codes[low + 1] = static_cast<std::int8_t>(from[i] >> 4);
    }
  }
  for (std::int64_t i = 0; i < block.count; ++i) {
    to[i] = std::fma(static_cast<float>(codes[static_cast<std::size_t>(i)]), scale, to[i]);
  }
}

/// The parts of a whole tensor, and threads for their blocks.
struct Plan {
  QuantizedPart part;
  std::int64_t elements, blocks;
  int threads;

  Plan(const KernelRequest& request, const Tensor& whole)
      : part(quantized_part(whole.elements(), request.node.attributes.integer("parts"),
                            request.node.attributes.integer("bits"))),
        elements(whole.elements()),
        blocks(request.node.attributes.integer("parts") * part.blocks()),
        threads(parts_for(request.threads, elements)) {}

  template <typename Visit>
  void each(const Visit& visit) const {
    parallel_ranges(threads, blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) visit(block_of(part, elements, i));
    });
  }
};

KernelPointer quantize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], packed = request.outputs[0], rest = request.outputs[1];
  return make_kernel([=, plan = Plan(request, x)](const StepContext&) {
    plan.each([&](const Block& block) { quantize_block(x, packed, rest, block, plan.part.bits); });
  });
}

KernelPointer dequantize(const KernelRequest& request) {
  const std::vector<Tensor> inputs(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  return make_kernel([=, plan = Plan(request, y)](const StepContext&) {
    plan.each([&](const Block& block) {
      std::fill_n(y.f32() + block.begin, block.count, 0.0F);
      for (const Tensor& packed : inputs) dequantize_block(packed, y, block, plan.part.bits);
    });
  });
}

}  // namespace

KernelRows quantization_kernels() {
  return {{Op::Quantize, quantize}, {Op::Dequantize, dequantize}};
}

}  // namespace regatta::cpu
