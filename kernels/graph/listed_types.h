// SPDX-License-Identifier: Apache-2.0
//
// Stores the output types of a receive, which its inputs do not determine, in the node's
// attributes: `elements` and `ranks` have one entry per type, `dims` the concatenated dimensions of
// all types.
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

void list_types(Attributes& attributes, std::span<const TensorType> types);
std::vector<TensorType> listed_types(const Attributes& attributes);

}  // namespace regatta
