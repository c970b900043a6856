// SPDX-License-Identifier: Apache-2.0
//
// attention: for each head and token t, with scores s[u] = q[t] k[u] / sqrt(D) of the tokens u <=
// t: y[t] = sum of p[u] v[u], p[u] = exp(s[u] - l[t]), l[t] = log of the sum of exp(s[u]). Its
// outputs: y and l. Backward, with e[t] = dy[t] y[t]: dv[u] += p dy[t]; ds = p (dy[t] v[u] - e[t])
// / sqrt(D); dq[t] += ds k[u]; dk[u] += ds q[t]. So memory is linear in the context: p is computed
// again. Source: Dao et al., arXiv:2205.14135. rotary: a rotation's gradient is the rotation by the
// opposite angle (attribute `back`). With a second input, kv, attention is one block of keys and
// values (attributes `queries` and `keys`: numbers of equally long chunks of the sequence), and y
// is f32. Its sum with earlier blocks y', l': l = log(exp(l') + the sum of exp(s)), y = exp(l' - l)
// y' + the sum of p v. Backward yields the block's terms of dq and dkv. Source: Liu et al.,
// arXiv:2310.01889.
#include <algorithm>

#include "kernels/graph/chunks.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::rotary(Value x, std::int64_t heads, double base) {
  return node(Op::Rotary, {x}, {{"heads", heads}, {"base", base}, {"back", std::int64_t{0}}});
}

Value Builder::attention(Value x, std::int64_t heads) {
  return node(Op::Attention, {x}, {{"heads", heads}});
}

namespace {

Attributes attributes_of(const AttentionBlock& block) {
  return {{"heads", block.heads}, {"keys", block.keys}, {"queries", block.queries}};
}

}  // namespace

AttentionValues Builder::attend(Value x, Value kv, const AttentionValues& earlier,
                                const AttentionBlock& block) {
  std::vector<Value> inputs{x, kv};
  if (earlier.y.exists()) inputs.insert(inputs.end(), {earlier.y, earlier.l});
  const Value y = node(Op::Attention, std::move(inputs), attributes_of(block));
  return {.y = y, .l = {y.node, 1}};
}

AttentionGradients Builder::attend_backward(Value dy, Value x, Value kv, const AttentionValues& sum,
                                            const AttentionBlock& block) {
  const Value dq = node(Op::AttentionBackward, {dy, x, sum.y, sum.l, kv}, attributes_of(block));
  return {.dq = dq, .dkv = {dq.node, 1}};
}

namespace rules {
namespace {

/// Multiply-adds of one product of all pairs of tokens, as model FLOPs utilisation counts them,
/// though the causal half suffices. Source: Chowdhery et al., arXiv:2204.02311, appendix B.
std::int64_t product(const TensorType& x, const TensorType& keys) {
  return x.dim(0) * x.dim(1) * keys.dim(1) * (x.dim(2) / 3);
}

/// Checks a block's keys and values.
void check_block(const InferRequest& request, const TensorType& x, const TensorType& kv) {
  const Chunks queries = chunks_of(request.attributes, "queries", x.dim(1));
  const Chunks keys = chunks_of(request.attributes, "keys", kv.dim(1));
  const auto ascend = [&](const char* name) {
    const auto& numbers = request.attributes.integers(name);
    return std::is_sorted(numbers.begin(), numbers.end());
  };
  check(ascend("queries") && ascend("keys"), "attention: chunks in order");
  check(kv.rank() == 3 && kv.element == x.element && kv.dim(0) == x.dim(0) &&
            3 * kv.dim(2) == 2 * x.dim(2) && queries.length == keys.length &&
            queries.length * queries.count() == x.dim(1) && keys.length * keys.count() == kv.dim(1),
        "attention: kv [B, K, 2 C], in chunks as long as those of the queries");
}

}  // namespace

Types infer_rotary(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 3 &&
            request.inputs[0].dim(2) % (6 * request.attributes.integer("heads")) == 0,
        "rotary: x [B, S, 3 C], heads of an even number of channels");
  const std::int64_t tokens = request.inputs[0].dim(1);
  const Chunks chunks = chunks_of(request.attributes, "chunks", tokens);
  check(chunks.length * chunks.count() == tokens, "rotary: tokens of whole chunks");
  return {request.inputs[0]};
}

Values gradient_rotary(Builder& builder, Value, const Node& node,
                       std::span<const Value> gradients) {
  Attributes attributes = node.attributes;
  attributes.set("back", std::int64_t{1});
  return {builder.node(Op::Rotary, {gradients[0]}, std::move(attributes))};
}

Types infer_attention(const InferRequest& request) {
  check(!request.inputs.empty() && request.inputs[0].rank() == 3, "attention: x [B, S, 3 C]");
  const TensorType& x = request.inputs[0];
  const std::int64_t heads = request.attributes.integer("heads");
  check(heads > 0 && x.dim(2) % (3 * heads) == 0, "attention: heads of whole channels");
  Types types{{x.element, {x.dim(0), x.dim(1), x.dim(2) / 3}},
              {ElementType::F32, {x.dim(0), heads, x.dim(1)}}};
  if (request.inputs.size() == 1) return types;
  types[0].element = ElementType::F32;
  check_block(request, x, request.inputs[1]);
  const bool begins = request.attributes.integers("queries") == request.attributes.integers("keys");
  check(request.inputs.size() == 2 ? begins
                                   : std::equal(types.begin(), types.end(),
                                                request.inputs.begin() + 2, request.inputs.end()),
        "attention: y and l of earlier blocks, or the block of the queries' own tokens");
  return types;
}

Types infer_attention_backward(const InferRequest& request) {
  check(request.inputs.size() >= 4 && request.inputs[0] == request.inputs[2] &&
            request.inputs[1].elements() == 3 * request.inputs[0].elements(),
        "attention_backward: dy [B, S, C], x [B, S, 3 C], y, l [B, heads, S]");
  if (request.inputs.size() == 4) return {request.inputs[1]};
  check_block(request, request.inputs[1], request.inputs[4]);
  return {{ElementType::F32, request.inputs[0].dims}, {ElementType::F32, request.inputs[4].dims}};
}

Values gradient_attention(Builder& builder, Value y, const Node& node,
                          std::span<const Value> gradients) {
  check(node.inputs.size() == 1, "attention: a block has its gradient from attend_backward()");
  return {builder.node(Op::AttentionBackward, {gradients[0], node.inputs[0], y, {y.node, 1}},
                       {{"heads", node.attributes.integer("heads")}})};
}

std::int64_t multiply_adds_attention(const Graph& graph, const Node& node) {
  return 2 * product(graph.type(node.inputs[0]), graph.type(node.inputs[node.inputs.size() > 1]));
}

/// Four products: dp, dv, dq, dk; the scores, which are computed again, do not count.
std::int64_t multiply_adds_attention_backward(const Graph& graph, const Node& node) {
  return 4 * product(graph.type(node.inputs[1]),
                     graph.type(node.inputs[node.inputs.size() > 4 ? 4 : 1]));
}

}  // namespace rules
}  // namespace regatta
