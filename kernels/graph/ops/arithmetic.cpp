// SPDX-License-Identifier: Apache-2.0
//
// add, scale, cast, sum of n, concatenate, take, put; reshape and slice are views: the same memory
// under another type. translate shifts and mirrors images, for evaluation on several views; it has
// no gradient.
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::add(Value a, Value b) { return node(Op::Add, {a, b}); }
Value Builder::scale(Value x, double factor) { return node(Op::Scale, {x}, {{"factor", factor}}); }
Value Builder::reshape(Value x, std::vector<std::int64_t> dims) {
  return node(Op::Reshape, {x}, {{"dims", std::move(dims)}});
}
Value Builder::view(Value x, std::vector<std::int64_t> dims) {
  return node(Op::Reshape, {x}, {{"all_dims", std::move(dims)}});
}
Value Builder::flatten(Value x) { return node(Op::Reshape, {x}, {{"flat", std::int64_t{1}}}); }
Value Builder::slice(Value x, std::int64_t offset, std::int64_t count) {
  return node(Op::Slice, {x}, {{"offset", offset}, {"count", count}});
}
Value Builder::concatenate(std::vector<Value> values) {
  return node(Op::Concatenate, std::move(values));
}
Value Builder::take(Value x, std::int64_t axis, std::vector<std::int64_t> begins,
                    std::int64_t length) {
  return node(Op::Take, {x}, {{"axis", axis}, {"begins", std::move(begins)}, {"length", length}});
}
Value Builder::put(std::vector<Value> values, std::int64_t axis, std::vector<std::int64_t> begins,
                   std::int64_t extent) {
  return node(Op::Put, std::move(values),
              {{"axis", axis}, {"begins", std::move(begins)}, {"extent", extent}});
}
Value Builder::cast(Value x, ElementType element) {
  return node(Op::Cast, {x}, {{"element", static_cast<std::int64_t>(element)}});
}
Value Builder::translate(Value x, const Translation& translation) {
  return node(Op::Translate, {x},
              {{"rows", translation.rows},
               {"columns", translation.columns},
               {"mirror", static_cast<std::int64_t>(translation.mirror)}});
}
Value Builder::orthogonalize(Value x) { return node(Op::Orthogonalize, {x}); }
Value Builder::quotient(Value x, Value divisor) { return node(Op::Quotient, {x, divisor}); }
Value Builder::sum(std::vector<Value> values, double factor) {
  return node(Op::Sum, std::move(values), {{"factor", factor}});
}

namespace rules {

Types infer_add(const InferRequest& request) {
  check(request.inputs.size() == 2, "add takes two inputs");
  return infer_like_first(request);
}

Types infer_sum(const InferRequest& request) { return infer_like_first(request); }

Types infer_orthogonalize(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 2 &&
            request.inputs[0].element == ElementType::F32,
        "orthogonalize: x [A, R] f32");
  return infer_like_first(request);
}

Types infer_quotient(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[0].element == ElementType::F32 &&
            request.inputs[1] == TensorType{ElementType::F32, {1}},
        "quotient: x f32, divisor [1] f32");
  return {request.inputs[0]};
}

Types infer_reshape(const InferRequest& request) {
  check(request.inputs.size() == 1, "reshape takes one input");
  const TensorType& x = request.inputs[0];
  if (request.attributes.has("flat")) return {{x.element, {x.elements()}}};
  // Dimension 0 is the batch and follows the input; `dims` holds the others.
  const bool all = request.attributes.has("all_dims");
  TensorType y{x.element, request.attributes.integers(all ? "all_dims" : "dims")};
  if (!all) y.dims.insert(y.dims.begin(), x.dim(0));
  check(x.elements() == y.elements(), "reshape keeps the number of elements");
  return {y};
}

Types infer_slice(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() >= 1, "slice takes one input");
  TensorType y = request.inputs[0];
  const std::int64_t offset = request.attributes.integer("offset");
  const std::int64_t count = request.attributes.integer("count");
  check(offset >= 0 && count > 0 && offset + count <= y.dim(0), "slice: rows of its input");
  y.dims[0] = count;
  return {y};
}

Types infer_concatenate(const InferRequest& request) {
  check(!request.inputs.empty(), "concatenate takes at least one input");
  TensorType y = request.inputs[0];
  check(y.rank() >= 1, "concatenate: inputs have rows");
  for (const TensorType& x : request.inputs.subspan(1)) {
    TensorType rows = x;
    rows.dims[0] = request.inputs[0].dim(0);
    check(rows == request.inputs[0], "concatenate: inputs differ in their rows only");
    y.dims[0] += x.dim(0);
  }
  return {y};
}

Types infer_take(const InferRequest& request) {
  check(request.inputs.size() == 1, "take has one input");
  TensorType y = request.inputs[0];
  const auto axis = static_cast<std::size_t>(request.attributes.integer("axis"));
  const std::int64_t length = request.attributes.integer("length");
  std::int64_t end = 0;
  for (const std::int64_t begin : request.attributes.integers("begins")) {
    check(begin >= end && begin + length <= y.dims.at(axis), "take: ranges of its input, in order");
    end = begin + length;
  }
  y.dims.at(axis) = std::ssize(request.attributes.integers("begins")) * length;
  return {y};
}

Types infer_put(const InferRequest& request) {
  const auto& begins = request.attributes.integers("begins");
  const auto axis = static_cast<std::size_t>(request.attributes.integer("axis"));
  check(!request.inputs.empty() && begins.size() % request.inputs.size() == 0,
        "put: equally many ranges of each input");
  const std::size_t ranges = begins.size() / request.inputs.size();
  TensorType y = request.inputs[0];
  y.dims.at(axis) = request.attributes.integer("extent");
  std::int64_t end = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    TensorType x = request.inputs[i / ranges];
    check(begins[i] >= end && x.dims.at(axis) % static_cast<std::int64_t>(ranges) == 0,
          "put: ranges in order, equally long");
    end = begins[i] + x.dims.at(axis) / static_cast<std::int64_t>(ranges);
    x.dims[axis] = y.dims[axis];
    check(x == y && end <= y.dims[axis], "put: inputs differ in one dimension, and fit");
  }
  return {y};
}

Types infer_cast(const InferRequest& request) {
  check(request.inputs.size() == 1, "cast takes one input");
  return {
      {static_cast<ElementType>(request.attributes.integer("element")), request.inputs[0].dims}};
}

Types infer_translate(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 4, "translate: x [B, H, W, C]");
  const TensorType& x = request.inputs[0];
  const auto inside = [](std::int64_t shift, std::int64_t side) {
    return shift < side && -shift < side;
  };
  check(inside(request.attributes.integer("rows"), x.dim(1)) &&
            inside(request.attributes.integer("columns"), x.dim(2)),
        "translate moves an image by less than its side");
  return {x};
}

Values gradient_add(Builder&, Value, const Node&, std::span<const Value> gradients) {
  return {gradients[0], gradients[0]};
}

Values gradient_scale(Builder& builder, Value, const Node& node, std::span<const Value> gradients) {
  return {builder.scale(gradients[0], node.attributes.real("factor"))};
}

Values gradient_reshape(Builder& builder, Value, const Node& node,
                        std::span<const Value> gradients) {
  std::vector<std::int64_t> dims = builder.graph().type(node.inputs[0]).dims;
  dims.erase(dims.begin());
  return {builder.reshape(gradients[0], dims)};
}

Values gradient_cast(Builder& builder, Value, const Node& node, std::span<const Value> gradients) {
  // The gradient of bf16 weights is already f32.
  const ElementType element = builder.graph().type(node.inputs[0]).element;
  if (builder.graph().type(gradients[0]).element == element) return {gradients[0]};
  return {builder.cast(gradients[0], element)};
}

}  // namespace rules
}  // namespace regatta
