// SPDX-License-Identifier: Apache-2.0
//
// Chooses a kernel's C++ element type, f32 or bf16 (kernels/runtime/element.h), at run time.
#pragma once

#include <memory>

#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/element.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

using regatta::Bf16;
using regatta::load;
using regatta::store;

/// Returns build(T{}), where T is the C++ type of `element`; null for types without kernels.
template <typename Build>
std::unique_ptr<Kernel> with_element(ElementType element, const Build& build) {
  switch (element) {
    case ElementType::F32: return build(float{});
    case ElementType::BF16: return build(Bf16{});
    default: return nullptr;
  }
}

}  // namespace regatta::cpu
