// SPDX-License-Identifier: Apache-2.0
//
// Checks that all elements of a tensor are finite. Reads its memory once, at memory bandwidth.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Whether no element is infinite or NaN. Tensors of integers are always finite.
bool all_finite(const Tensor& tensor);

}  // namespace regatta
