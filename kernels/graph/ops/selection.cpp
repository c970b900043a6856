// SPDX-License-Identifier: Apache-2.0
//
// top_k and scatter_add: gradients as their largest elements. The selection is one tensor [2 k]
// f32: k values by ascending index, then the bits of their k indices. A tie in magnitude goes to
// the lower index; NaN counts as larger than all numbers, so that it travels.
#include <limits>

#include "kernels/graph/ops/rules.h"

namespace regatta {

TopKValues Builder::top_k(Value x, std::int64_t count) {
  const Value selected = node(Op::TopK, {x}, {{"count", count}});
  return {.selected = selected, .rest = {selected.node, 1}};
}
Value Builder::scatter_add(Value selected, std::int64_t count, std::vector<std::int64_t> dims) {
  return node(Op::ScatterAdd, {selected}, {{"count", count}, {"dims", std::move(dims)}});
}

namespace rules {

Types infer_top_k(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].element == ElementType::F32,
        "top_k: x f32");
  const TensorType& x = request.inputs[0];
  const std::int64_t count = request.attributes.integer("count");
  check(count >= 1 && count <= x.elements() &&
            x.elements() <= std::numeric_limits<std::int32_t>::max(),
        "top_k: some of the elements of x, which 31 bits can number");
  return {{ElementType::F32, {2 * count}}, x};
}

Types infer_scatter_add(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].element == ElementType::F32 &&
            request.inputs[0].rank() == 1 &&
            request.inputs[0].dim(0) % (2 * request.attributes.integer("count")) == 0,
        "scatter_add: what top_k has selected, one behind the other");
  return {{ElementType::F32, request.attributes.integers("dims")}};
}

}  // namespace rules
}  // namespace regatta
