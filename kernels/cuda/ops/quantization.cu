// SPDX-License-Identifier: Apache-2.0
//
// quantize: a block of threads for each block of elements, one thread an element. dequantize: one
// thread an element, input by input.
#include "kernels/graph/quantization.h"

#include <cmath>
#include <vector>

#include "kernels/cuda/device/launch.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

constexpr int kBlockElements = static_cast<int>(kQuantizedBlock);

/// Where the elements of a tensor are in its packed form.
struct PackedForm {
  std::int64_t elements;                ///< of the whole tensor
  std::int64_t in_part, blocks, words;  ///< of a part
  int bits;

  __host__ __device__ std::int64_t scale(std::int64_t part, std::int64_t at) const {
    return part * words + at / kBlockElements;
  }
  __host__ __device__ std::int64_t byte(std::int64_t part, std::int64_t at) const {
    return 4 * (part * words + blocks) + at * bits / 8;
  }
};

PackedForm form_of(const KernelRequest& request, const Tensor& whole) {
  const Attributes& attributes = request.node.attributes;
  const std::int64_t bits = attributes.integer("bits");
  const QuantizedPart part = quantized_part(whole.elements(), attributes.integer("parts"), bits);
  return {.elements = whole.elements(),
          .in_part = part.elements,
          .blocks = part.blocks(),
          .words = part.words(),
          .bits = static_cast<int>(bits)};
}

struct QuantizeBlock {
  struct Shared {
    std::uint32_t largest[kBlockElements];  ///< magnitudes
    int codes[kBlockElements];
  };
  PackedForm form;
  const float* x;
  float* packed;
  float* rest;
  float most;

  __host__ __device__ void operator()(const Block& block) const {
    Shared& shared = *reinterpret_cast<Shared*>(block.shared);
    const std::int64_t part = block.index / form.blocks;
    const std::int64_t first = block.index % form.blocks * kBlockElements;
    const auto element = [&](int thread) { return part * form.in_part + first + thread; };
    const auto exists = [&](int thread) {
      return first + thread < form.in_part && element(thread) < form.elements;
    };
    block.each([&](int thread) {
      shared.largest[thread] = 0;
      if (exists(thread)) {
        shared.largest[thread] =
            reinterpret_cast<const std::uint32_t*>(x)[element(thread)] & 0x7fffffffU;
      }
    });
    for (int half = kBlockElements / 2; half > 0; half /= 2) {
      block.each([&](int thread) {
        if (thread >= half) return;
        const std::uint32_t other = shared.largest[thread + half];
        if (other > shared.largest[thread]) shared.largest[thread] = other;
      });
    }
    block.each([&](int thread) { round(shared, thread, exists(thread), element(thread)); });
    block.each([&](int thread) {
      if (thread == 0) packed[form.scale(part, first)] = scale_of(shared);
      store(shared, thread, part, first);
    });
  }

  __host__ __device__ float scale_of(const Shared& shared) const {
    std::uint32_t bits = shared.largest[0];
    if (bits >= 0x7f800000U) bits = 0x7fc00000U;
    float largest = 0;
    memcpy(&largest, &bits, sizeof largest);
    return largest / most;
  }

  __host__ __device__ void round(Shared& shared, int thread, bool exists, std::int64_t i) const {
    shared.codes[thread] = 0;
    if (!exists) return;
    const float scale = scale_of(shared);
    float code = 0;
    if (scale > 0) code = fminf(fmaxf(rintf(x[i] / scale), -most), most);
    shared.codes[thread] = static_cast<int>(code);
    rest[i] = fmaf(-code, scale, x[i]);
  }

  /// Stores the bytes that begin with the thread's element, and those up to the end of the part.
  __host__ __device__ void store(const Shared& shared, int thread, std::int64_t part,
                                 std::int64_t first) const {
    const std::int64_t byte = form.byte(part, first + thread);
    if (byte >= 4 * (part + 1) * form.words) return;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(packed);
    if (form.bits == 8) {
      bytes[byte] = static_cast<std::uint8_t>(shared.codes[thread]);
    } else if (thread % 2 == 0) {
      bytes[byte] =
          static_cast<std::uint8_t>((shared.codes[thread] & 15) | (shared.codes[thread + 1] << 4));
    }
  }
};

template <bool kIsFirst>
struct DequantizeElement {
  PackedForm form;
  const float* packed;
  float* y;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t part = i / form.in_part, at = i % form.in_part;
    int code = reinterpret_cast<const std::int8_t*>(packed)[form.byte(part, at)];
    if (form.bits == 4) code = at % 2 == 0 ? static_cast<std::int8_t>(code << 4) >> 4 : code >> 4;
    const float before = kIsFirst ? 0 : y[i];
    y[i] = fmaf(static_cast<float>(code), packed[form.scale(part, at)], before);
  }
};

KernelPointer quantize(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const PackedForm form = form_of(request, request.inputs[0]);
  const QuantizeBlock body{.form = form,
                           .x = request.inputs[0].f32(),
                           .packed = request.outputs[0].f32(),
                           .rest = request.outputs[1].f32(),
                           .most = largest_code(form.bits)};
  const std::int64_t blocks = request.node.attributes.integer("parts") * form.blocks;
  return make_kernel([=](const StepContext&) {
    for_each_block(*queue, blocks, kBlockElements, sizeof(QuantizeBlock::Shared), body);
  });
}

KernelPointer dequantize(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor y = request.outputs[0];
  const PackedForm form = form_of(request, y);
  const std::vector<Tensor> inputs(request.inputs.begin(), request.inputs.end());
  return make_kernel([=](const StepContext&) {
    for_each(*queue, y.elements(), DequantizeElement<true>{form, inputs[0].f32(), y.f32()});
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      for_each(*queue, y.elements(), DequantizeElement<false>{form, inputs[k].f32(), y.f32()});
    }
  });
}

}  // namespace

KernelRows quantization_kernels() {
  return {{Op::Quantize, quantize}, {Op::Dequantize, dequantize}};
}

}  // namespace regatta::cuda
