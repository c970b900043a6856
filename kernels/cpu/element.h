// SPDX-License-Identifier: Apache-2.0
//
// Loops for the element types with which kernels compute (kernels/runtime/element.h).
#pragma once

#include <memory>

#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/element.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

using regatta::Bf16;
using regatta::load;
using regatta::store;

/// Calls build(T{}) with the element type; null for types without loops.
template <typename Build>
std::unique_ptr<Kernel> with_element(ElementType element, const Build& build) {
  switch (element) {
    case ElementType::F32: return build(float{});
    case ElementType::BF16: return build(Bf16{});
    default: return nullptr;
  }
}

}  // namespace regatta::cpu
