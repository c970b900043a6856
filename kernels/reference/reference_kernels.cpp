// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference_kernels.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace regatta::reference {
// each in the file of this name: activation.cpp, ...
KernelRows activation_kernels(), arithmetic_kernels(), attention_kernels(), clip_kernels(),
    convolution_kernels(), dense_kernels(), embedding_kernels(), fused_kernels(),
    layer_normalize_kernels(), loss_kernels(), normalize_kernels(), orthogonalize_kernels(),
    pool_kernels(), quantization_kernels(), selection_kernels(), update_kernels();

namespace {

/// The ops whose loops take bf16, too.
constexpr Op kOfAnyElement[] = {Op::Read, Op::Concatenate, Op::Cast,    Op::Copy,       Op::Take,
                                Op::Put,  Op::Assign,      Op::Average, Op::AverageWith};

bool has_bf16(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& t) { return t.type.element == ElementType::BF16; });
}

/// Wraps a factory of loops that handle only float, so that bf16 operands get no kernel.
KernelFactory f32_only(KernelFactory factory) {
  return [factory = std::move(factory)](const KernelRequest& request) -> KernelPointer {
    if (has_bf16(request.inputs) || has_bf16(request.outputs)) return nullptr;
    return factory(request);
  };
}

}  // namespace

void add_reference_kernels(KernelTable& table) {
  for (const auto rows :
       {reference::activation_kernels, reference::arithmetic_kernels, reference::attention_kernels,
        reference::clip_kernels, reference::convolution_kernels, reference::dense_kernels,
        reference::embedding_kernels, reference::fused_kernels, reference::layer_normalize_kernels,
        reference::loss_kernels, reference::normalize_kernels, reference::orthogonalize_kernels,
        reference::pool_kernels, reference::quantization_kernels, reference::selection_kernels,
        reference::update_kernels}) {
    for (const KernelRow& row : rows()) {
      const bool any = std::count(std::begin(kOfAnyElement), std::end(kOfAnyElement), row.op) > 0;
      table.add(row.op, any ? KernelFactory(row.factory) : f32_only(row.factory));
    }
  }
}

}  // namespace regatta::reference
