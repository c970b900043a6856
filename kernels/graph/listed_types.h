// SPDX-License-Identifier: Apache-2.0
//
// Types of a node's outputs that its inputs do not tell: of what it receives. They are its
// attributes `elements`, `ranks` and `dims`, the last of all types one behind the other.
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

void list_types(Attributes& attributes, std::span<const TensorType> types);
std::vector<TensorType> listed_types(const Attributes& attributes);

}  // namespace regatta
