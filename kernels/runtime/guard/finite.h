// SPDX-License-Identifier: Apache-2.0
//
// Whether all elements of a tensor are finite. Costs one pass over its memory, at memory bandwidth.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// False where an element is infinite or not a number. Tensors of integers are always finite.
bool all_finite(const Tensor& tensor);

}  // namespace regatta
