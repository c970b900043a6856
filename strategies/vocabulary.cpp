// SPDX-License-Identifier: Apache-2.0
#include "strategies/vocabulary.h"

#include "kernels/graph/collective.h"

namespace regatta::strategies {
namespace {

/// Appends a node at each shard that takes the source node's inputs, with the attribute `offset`:
/// the first of the shard's rows of the `vocabulary`.
std::vector<Value> at_all(ShardedStep& step, NodeId id, Op op, std::int64_t vocabulary,
                          const std::vector<Value>& inputs, Attributes attributes = {}) {
  std::vector<Value> made;
  for (std::int64_t s = 0; s < step.built(); ++s) {
    const Range rows = share(vocabulary, step.shards(), s);
    attributes.set("offset", rows.begin);
    if (op == Op::EmbedBackward) attributes.set("rows", rows.size());
    std::vector<Value> own;
    for (Value input : inputs) own.push_back(step.copier(s).value(input));
    made.push_back(step.builder(id, s).node(op, std::move(own), attributes));
  }
  return made;
}

void add_loss(ShardedStep& step, NodeId id) {
  const Node& node = step.source().node(id);
  const std::int64_t vocabulary = step.source().type(node.inputs[0]).columns();
  const std::vector<Value> all =
      step.all_gather({id, 0}, at_all(step, id, Op::SoftmaxPart, vocabulary, node.inputs));
  const Attributes attributes{{"parts", step.shards()},
                              {"divisor", node.attributes.integer("divisor")}};
  for (std::int64_t s = 0; s < step.built(); ++s) {
    const Value loss = step.builder(id, s).node(Op::CrossEntropyOfParts,
                                                {all[static_cast<std::size_t>(s)]}, attributes);
    step.copier(s).map_outputs(id, loss.node);  // in place of the probabilities: the log-sums
  }
}

void add_loss_backward(ShardedStep& step, NodeId id) {
  const Node& node = step.source().node(id);
  const Value log_sums = node.inputs[0];
  const Node& loss = step.source().node(log_sums.node);
  const std::int64_t vocabulary = step.source().type(loss.inputs[0]).columns();
  step.map({id, 0}, at_all(step, id, Op::SoftmaxPartBackward, vocabulary,
                           {loss.inputs[0], loss.inputs[1], log_sums},
                           {{"divisor", node.attributes.integer("divisor")}}));
}

}  // namespace

bool replace_by_vocabulary(ShardedStep& step, NodeId id) {
  const Node& node = step.source().node(id);
  const ShardDivision& division = step.division();
  if (node.op == Op::Embed && division.of({id, 0}) == Portion::Term) {
    const std::int64_t vocabulary = step.source().type(node.inputs[1]).dim(0);
    step.join({id, 0}, at_all(step, id, Op::Embed, vocabulary, node.inputs));
  } else if (node.op == Op::EmbedBackward && division.of({id, 0}) == Portion::Rows) {
    const std::int64_t vocabulary = node.attributes.integer("rows");
    step.map({id, 0}, at_all(step, id, Op::EmbedBackward, vocabulary, node.inputs));
  } else if (node.op == Op::SoftmaxCrossEntropy && division.of({id, 1}) == Portion::Channels) {
    add_loss(step, id);
  } else if (node.op == Op::SoftmaxCrossEntropyBackward &&
             division.of({id, 0}) == Portion::Channels) {
    add_loss_backward(step, id);
  } else {
    return false;
  }
  return true;
}

}  // namespace regatta::strategies
