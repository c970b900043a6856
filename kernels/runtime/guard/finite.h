// SPDX-License-Identifier: Apache-2.0
//
// Whether a tensor holds numbers only. Costs one pass over its memory, at its bandwidth.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// False where an element is infinite or not a number. Tensors of integers are always finite.
bool all_finite(const Tensor& tensor);

}  // namespace regatta
