// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/fusion_patterns.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "kernels/graph/fusion.h"

namespace regatta {
namespace {

using Activation = Fusion::Activation;
using Pool = Fusion::Pool;

/// The nodes that use each value; kOutside stands for the step's own lists (losses, gradients).
class Users {
 public:
  static constexpr NodeId kOutside = -1;

  explicit Users(const Step& step) : graph_(step.graph) {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      for (Value input : graph_.node(id).inputs) users_[input].push_back(id);
    }
    for (const Trainable& trainable : step.trainables)
      users_[trainable.gradient].push_back(kOutside);
    for (Value loss : step.losses) users_[loss].push_back(kOutside);
  }

  const std::vector<NodeId>& of(Value value) const {
    static const std::vector<NodeId> none;
    const auto found = users_.find(value);
    return found == users_.end() ? none : found->second;
  }

  /// The first user with one of `ops`; -1 if there is none.
  NodeId first(Value value, std::initializer_list<Op> ops) const {
    for (NodeId user : of(value)) {
      if (user == kOutside) continue;
      if (std::find(ops.begin(), ops.end(), graph_.node(user).op) != ops.end()) return user;
    }
    return -1;
  }

 private:
  const Graph& graph_;
  std::map<Value, std::vector<NodeId>> users_;
};

/// The neighbours of a normalisation to search for.
struct Wanted {
  Pool pool = Pool::None;
  bool activation = false;
  bool add = false;
  int count() const { return (pool != Pool::None) + activation + add; }
};

std::vector<Wanted> largest_first() {
  std::vector<Wanted> all;
  for (Pool pool : {Pool::Before, Pool::After, Pool::None}) {
    for (bool activation : {true, false}) {
      for (bool add : {true, false}) {
        const Wanted wanted{.pool = pool, .activation = activation, .add = add};
        if (wanted.count() > 0 && !(pool == Pool::After && add)) all.push_back(wanted);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Wanted& a, const Wanted& b) { return a.count() > b.count(); });
  return all;
}

bool is_simple_pool(const Node& node) {
  const Attributes& attributes = node.attributes;
  return node.op == Op::MaxPool && attributes.integer("padding") == 0 &&
         attributes.integer("kernel") == attributes.integer("stride");
}

class Matcher {
 public:
  explicit Matcher(const Step& step) : graph_(step.graph), users_(step) {}

  std::optional<FusedBlock> match(NodeId id) const {
    const Op op = graph_.node(id).op;
    if (op == Op::Bias) return closed(bias(id));
    if (op != Op::Normalize && op != Op::NormalizeInference) return {};
    for (const Wanted& wanted : largest_first()) {
      std::optional<FusedBlock> block = closed(normalization(id, wanted));
      if (block) return block;
    }
    return {};
  }

 private:
  /// The nodes of a pattern around a normalisation; -1 for absent ones.
  struct Chain {
    NodeId normalize = -1;
    NodeId pool = -1;
    NodeId activation = -1;
    NodeId add = -1;
    Value residual;
    Value y;
    Fusion fusion;
  };

  /// The block before closed(): its values may still be used elsewhere.
  std::optional<FusedBlock> normalization(NodeId id, const Wanted& wanted) const {
    const std::optional<Chain> chain = find_chain(id, wanted);
    if (!chain) return {};
    FusedBlock block{.forward = forward_of(*chain), .backward = {}};
    const NodeId backward = users_.first({id, 1}, {Op::NormalizeBackward});
    if (graph_.node(id).op == Op::NormalizeInference || backward < 0) return block;
    block.backward = backward_of(*chain, backward);
    if (!block.backward) return {};
    return block;
  }

  std::optional<Chain> find_chain(NodeId id, const Wanted& wanted) const {
    Chain chain{.normalize = id, .residual = {}, .y = {id, 0}, .fusion = {}};
    if (wanted.pool == Pool::Before) chain.pool = graph_.node(id).inputs[0].node;
    if (wanted.activation) {
      chain.activation = users_.first(chain.y, {Op::Relu, Op::Gelu});
      if (chain.activation < 0) return {};
      chain.fusion.activation = activation_of(chain.activation);
      chain.y = {chain.activation, 0};
    }
    if (wanted.pool == Pool::After) {
      chain.pool = users_.first(chain.y, {Op::MaxPool});
      chain.y = {chain.pool, 0};
    }
    if (wanted.pool != Pool::None) {
      if (chain.pool < 0 || !is_simple_pool(graph_.node(chain.pool))) return {};
      chain.fusion.pool = wanted.pool;
      chain.fusion.window = graph_.node(chain.pool).attributes.integer("kernel");
    }
    if (wanted.add) {
      chain.add = users_.first(chain.y, {Op::Add});
      if (chain.add < 0) return {};
      const auto& terms = graph_.node(chain.add).inputs;
      chain.residual = terms[0] == chain.y ? terms[1] : terms[0];
      chain.y = {chain.add, 0};
    }
    return chain;
  }

  Activation activation_of(NodeId id) const {
    return graph_.node(id).op == Op::Relu ? Activation::Relu : Activation::Gelu;
  }

  FusedNode forward_of(const Chain& chain) const {
    const Node& normalize = graph_.node(chain.normalize);
    FusedNode fused{.node = normalize, .members = {chain.normalize}, .outputs = {{chain.y, 0}}};
    const bool training = normalize.op == Op::Normalize;
    fused.node.op = training ? Op::FusedNormalize : Op::FusedNormalizeInference;
    set_fusion(fused.node.attributes, chain.fusion);
    if (chain.fusion.pool == Pool::Before) {
      fused.node.inputs[0] = graph_.node(chain.pool).inputs[0];
      if (training) fused.outputs.push_back({{chain.pool, 0}, 3});
    }
    if (chain.residual.exists()) fused.node.inputs.push_back(chain.residual);
    if (training) {
      fused.outputs.push_back({{chain.normalize, 1}, 1});
      fused.outputs.push_back({{chain.normalize, 2}, 2});
      if (chain.pool >= 0) fused.outputs.push_back({{chain.pool, 1}, 4});
    }
    for (NodeId member : {chain.pool, chain.activation, chain.add}) {
      if (member >= 0) fused.members.push_back(member);
    }
    return fused;
  }

  /// Empty if the backward nodes are not those of the chain, one after the other.
  std::optional<FusedNode> backward_of(const Chain& chain, NodeId id) const {
    const Node& backward = graph_.node(id);
    const Node& normalize = graph_.node(chain.normalize);
    FusedNode fused{.node = backward, .members = {id}, .outputs = {{{id, 1}, 1}, {{id, 2}, 2}}};
    Value dy = backward.inputs[0];
    Value dx{id, 0};
    if (chain.activation >= 0) {
      if (!undoes_activation(dy, chain.activation)) return {};
      fused.members.push_back(dy.node);
      dy = graph_.node(dy.node).inputs[0];
    }
    if (chain.pool >= 0) {
      const bool before = chain.fusion.pool == Pool::Before;
      const NodeId pool = before ? users_.first(dx, {Op::MaxPoolBackward}) : dy.node;
      if (pool < 0 || graph_.node(pool).op != Op::MaxPoolBackward ||
          graph_.node(pool).inputs[1] != Value{chain.pool, 1}) {
        return {};
      }
      fused.members.push_back(pool);
      (before ? dx : dy) = before ? Value{pool, 0} : graph_.node(pool).inputs[0];
    }
    fused.outputs.push_back({dx, 0});
    fused.node.op = Op::FusedNormalizeBackward;
    set_fusion(fused.node.attributes, chain.fusion);
    const bool after = chain.fusion.pool == Pool::After;
    const Value x = normalize.inputs[0];
    fused.node.inputs = {dy,
                         after ? Value{} : x,
                         normalize.inputs[1],
                         normalize.inputs[2],
                         {chain.normalize, 1},
                         {chain.normalize, 2}};
    if (chain.pool >= 0) {
      fused.node.attributes.set("dims", graph_.type(dx).dims);
      fused.node.inputs.push_back({chain.pool, 1});
    }
    if (after) fused.node.inputs.push_back(x);
    return fused;
  }

  /// Whether `gradient` is the result of the activation's own backward node.
  bool undoes_activation(Value gradient, NodeId activation) const {
    const Node& node = graph_.node(gradient.node);
    const Value x = graph_.node(activation).inputs[0], y{activation, 0};
    const bool relu = graph_.node(activation).op == Op::Relu;
    return relu ? node.op == Op::ReluBackward && node.inputs[1] == y
                : node.op == Op::GeluBackward && node.inputs[1] == x;
  }

  std::optional<FusedBlock> bias(NodeId id) const {
    const NodeId activation = users_.first({id, 0}, {Op::Relu, Op::Gelu});
    if (activation < 0) return {};
    Fusion fusion;
    fusion.activation = activation_of(activation);
    FusedNode forward{
        .node = graph_.node(id), .members = {id, activation}, .outputs = {{{activation, 0}, 0}}};
    forward.node.op = Op::FusedBias;
    set_fusion(forward.node.attributes, fusion);
    const bool relu = fusion.activation == Activation::Relu;
    const NodeId slope = relu ? users_.first({activation, 0}, {Op::ReluBackward})
                              : users_.first({id, 0}, {Op::GeluBackward});
    if (slope < 0) return FusedBlock{.forward = forward, .backward = {}};
    const NodeId sum = users_.first({slope, 0}, {Op::BiasBackward});
    if (sum < 0) return {};
    const bool data = users_.of({slope, 0}).size() > 1;
    FusedNode backward{
        .node = graph_.node(slope), .members = {slope, sum}, .outputs = {{{sum, 0}, 0}}};
    backward.node.op = Op::FusedBiasBackward;
    backward.node.inputs = {graph_.node(slope).inputs[0], forward.node.inputs[0],
                            forward.node.inputs[1]};
    set_fusion(backward.node.attributes, fusion);
    backward.node.attributes.set("data", std::int64_t{data});
    if (data) backward.outputs.push_back({{slope, 0}, 1});
    return FusedBlock{.forward = forward, .backward = backward};
  }

  /// The block if all nodes are at one place, only its results are used elsewhere, and those only
  /// after the fused nodes.
  std::optional<FusedBlock> closed(std::optional<FusedBlock> block) const {
    if (!block) return {};
    std::set<NodeId> members(block->forward.members.begin(), block->forward.members.end());
    const NodeId forward_end = *members.rbegin();
    std::set<Value> results;
    for (const FusedOutput& output : block->forward.outputs) results.insert(output.first);
    if (block->backward) {
      members.insert(block->backward->members.begin(), block->backward->members.end());
      for (const FusedOutput& output : block->backward->outputs) results.insert(output.first);
    }
    for (NodeId member : members) {
      const Node& node = graph_.node(member);
      if (node.place != block->forward.node.place) return {};
      for (int output = 0; output < static_cast<int>(node.outputs.size()); ++output) {
        const bool is_result = results.contains({member, output});
        for (NodeId user : users_.of({member, output})) {
          const bool after = user == Users::kOutside || user > forward_end;
          if (!members.contains(user) && !(is_result && after)) return {};
        }
      }
    }
    return block;
  }

  const Graph& graph_;
  Users users_;
};

bool shares(const FusedNode& fused, const std::set<NodeId>& taken) {
  return std::any_of(fused.members.begin(), fused.members.end(),
                     [&](NodeId id) { return taken.contains(id); });
}

}  // namespace

std::vector<FusedBlock> find_blocks(const Step& step) {
  const Matcher matcher(step);
  std::vector<FusedBlock> blocks;
  std::set<NodeId> taken;
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const std::optional<FusedBlock> block = matcher.match(id);
    if (!block || shares(block->forward, taken)) continue;
    if (block->backward && shares(*block->backward, taken)) continue;
    taken.insert(block->forward.members.begin(), block->forward.members.end());
    if (block->backward) {
      taken.insert(block->backward->members.begin(), block->backward->members.end());
    }
    blocks.push_back(*block);
  }
  return blocks;
}

}  // namespace regatta
