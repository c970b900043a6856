// SPDX-License-Identifier: Apache-2.0
//
// attention: for each head and token t, with scores s[u] = q[t] k[u] / sqrt(D) of the tokens u <=
// t: y[t] = sum of p[u] v[u], p[u] = exp(s[u] - l[t]), l[t] = log of the sum of exp(s[u]). Its
// outputs: y and l. Backward, with e[t] = dy[t] y[t]: dv[u] += p dy[t]; ds = p (dy[t] v[u] - e[t])
// / sqrt(D); dq[t] += ds k[u]; dk[u] += ds q[t]. So memory is linear in the context: p is computed
// again. Source: Dao et al., arXiv:2205.14135. rotary: a rotation's gradient is the rotation by the
// opposite angle (attribute `back`).
#include "kernels/graph/graph.h"
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::rotary(Value x, std::int64_t heads, double base) {
  return node(Op::Rotary, {x}, {{"heads", heads}, {"base", base}, {"back", std::int64_t{0}}});
}

Value Builder::attention(Value x, std::int64_t heads) {
  return node(Op::Attention, {x}, {{"heads", heads}});
}

namespace rules {
namespace {

/// Multiply-adds of one product of all pairs of tokens, as model FLOPs utilisation counts them,
/// though the causal half suffices. Source: Chowdhery et al., arXiv:2204.02311, appendix B.
std::int64_t product(const TensorType& x) {
  return x.dim(0) * x.dim(1) * x.dim(1) * (x.dim(2) / 3);
}

}  // namespace

Types infer_rotary(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 3 &&
            request.inputs[0].dim(2) % (6 * request.attributes.integer("heads")) == 0,
        "rotary: x [B, S, 3 C], heads of an even number of channels");
  return {request.inputs[0]};
}

Values gradient_rotary(Builder& builder, Value, const Node& node,
                       std::span<const Value> gradients) {
  Attributes attributes = node.attributes;
  attributes.set("back", std::int64_t{1});
  return {builder.node(Op::Rotary, {gradients[0]}, std::move(attributes))};
}

Types infer_attention(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 3, "attention: x [B, S, 3 C]");
  const TensorType& x = request.inputs[0];
  const std::int64_t heads = request.attributes.integer("heads");
  check(heads > 0 && x.dim(2) % (3 * heads) == 0, "attention: heads of whole channels");
  return {{x.element, {x.dim(0), x.dim(1), x.dim(2) / 3}},
          {ElementType::F32, {x.dim(0), heads, x.dim(1)}}};
}

Types infer_attention_backward(const InferRequest& request) {
  check(request.inputs.size() == 4 && request.inputs[0] == request.inputs[2] &&
            request.inputs[1].elements() == 3 * request.inputs[0].elements(),
        "attention_backward: dy [B, S, C], x [B, S, 3 C], y, l [B, heads, S]");
  return {request.inputs[1]};
}

Values gradient_attention(Builder& builder, Value y, const Node& node,
                          std::span<const Value> gradients) {
  return {builder.node(Op::AttentionBackward, {gradients[0], node.inputs[0], y, {y.node, 1}},
                       {{"heads", node.attributes.integer("heads")}})};
}

std::int64_t multiply_adds_attention(const Graph& graph, const Node& node) {
  return 2 * product(graph.type(node.inputs[0]));
}

/// Four products: dp, dv, dq, dk; the scores, which are computed again, do not count.
std::int64_t multiply_adds_attention_backward(const Graph& graph, const Node& node) {
  return 4 * product(graph.type(node.inputs[1]));
}

}  // namespace rules
}  // namespace regatta
