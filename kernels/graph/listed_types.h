// SPDX-License-Identifier: Apache-2.0
//
// Output types of a node that its inputs do not determine: those of a receive. They are stored in
// the attributes `elements`, `ranks` and `dims`; `dims` holds those of all types in turn.
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

void list_types(Attributes& attributes, std::span<const TensorType> types);
std::vector<TensorType> listed_types(const Attributes& attributes);

}  // namespace regatta
