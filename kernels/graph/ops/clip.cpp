// SPDX-License-Identifier: Apache-2.0
//
// squared_norm and clip_divisor: clipping by the global norm of all gradients (kernels/rewrite).
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::squared_norm(std::vector<Value> values) {
  return node(Op::SquaredNorm, std::move(values));
}

Value Builder::clip_divisor(Value squared_norm, double limit) {
  return node(Op::ClipDivisor, {squared_norm}, {{"limit", limit}});
}

namespace rules {
namespace {

const TensorType kOne{ElementType::F32, {1}};

}  // namespace

Types infer_squared_norm(const InferRequest& request) {
  check(!request.inputs.empty(), "squared_norm takes at least one value");
  for (const TensorType& type : request.inputs) {
    check(type.element == ElementType::F32, "squared_norm: values in f32");
  }
  return {kOne};
}

Types infer_clip_divisor(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0] == kOne, "clip_divisor: [1] f32");
  return {kOne};
}

}  // namespace rules
}  // namespace regatta
