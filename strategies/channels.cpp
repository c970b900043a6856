// SPDX-License-Identifier: Apache-2.0
#include "strategies/channels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::strategies {
namespace {

/// Whether each channel of the outputs depends only on that channel of the inputs, or on its head's
/// or half's.
bool works_by_channels(const Graph& graph, const Node& node) {
  const Portions portions = op_info(forward_of(node.op)).portions;
  if (portions == Portions::Heads || portions == Portions::Halves) return true;
  if (portions != Portions::Channels) return false;
  if (node.op != Op::Reshape) return true;
  return !node.attributes.has("flat") && !node.attributes.has("all_dims") &&
         graph.type(node.inputs[0]).dims.back() == node.outputs[0].dims.back();
}

bool works_by_elements(Op op) {
  return op_info(op).portions == Portions::Elements && !op_info(op).assigns;
}

bool updates_by_elements(Op op) {
  return op_info(op).portions == Portions::Elements && op_info(op).assigns;
}

bool is_layer(const Node& node) {
  const bool whole = node.op == Op::Convolution && !node.attributes.has("groups");
  return node.phase == Phase::Forward && (whole || node.op == Op::Dense);
}

bool is_depthwise(const Graph& graph, const Node& node) {
  if (node.op != Op::Convolution || !node.attributes.has("groups")) return false;
  const std::int64_t groups = node.attributes.integer("groups");
  return groups == graph.type(node.inputs[0]).dim(3) && groups == node.outputs[0].dim(3);
}

bool is_read(const Graph& graph, Value value) { return graph.node(value.node).op == Op::Read; }

/// The variable whose value or cast the value is; -1 if none.
VariableId variable_read(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  if (node.op == Op::Cast) value = node.inputs[0];
  return is_read(graph, value) ? graph.node(value.node).variables[0] : -1;
}

/// The portion of a product for given portions of its two inputs; a convolution is like the dense
/// op.
struct ProductRule {
  Op op;
  Portion first;
  Portion second;
  Portion result;
};
constexpr ProductRule kProductRules[] = {
    {Op::Dense, Portion::Whole, Portion::Rows, Portion::Channels},
    {Op::Dense, Portion::Channels, Portion::Channels, Portion::Term},
    {Op::DenseBackwardData, Portion::Channels, Portion::Rows, Portion::Term},
    {Op::DenseBackwardData, Portion::Whole, Portion::Channels, Portion::Channels},
    {Op::DenseBackwardWeights, Portion::Channels, Portion::Whole, Portion::Rows},
    {Op::DenseBackwardWeights, Portion::Whole, Portion::Channels, Portion::Channels},
};
/// The rules for products with `groups`, which filter each channel separately.
constexpr ProductRule kDepthwiseRules[] = {
    {Op::Dense, Portion::Channels, Portion::Rows, Portion::Channels},
    {Op::DenseBackwardData, Portion::Channels, Portion::Rows, Portion::Channels},
    {Op::DenseBackwardWeights, Portion::Channels, Portion::Channels, Portion::Rows},
};

std::optional<Op> dense_op_like(Op op) {
  switch (op) {
    case Op::Dense:
    case Op::Convolution: return Op::Dense;
    case Op::DenseBackwardData:
    case Op::ConvolutionBackwardData: return Op::DenseBackwardData;
    case Op::DenseBackwardWeights:
    case Op::ConvolutionBackwardWeights: return Op::DenseBackwardWeights;
    default: return std::nullopt;
  }
}

bool is_table(const Graph& graph, VariableId variable) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.op == Op::Embed && variable_read(graph, node.inputs[1]) == variable;
  });
}

/// A layer that is divided by its outputs, and the nodes that depend on these outputs.
struct ChannelBlock {
  std::set<NodeId> divided;                ///< nodes with divided outputs, including the layer
  std::set<NodeId> last;                   ///< layers that are divided by their inputs
  std::map<VariableId, Portion> portions;  ///< of variables that these nodes use
  std::int64_t heads = 0;                  ///< 0: channels are divided one by one
  std::int64_t matrices = 1;               ///< parts of the last divided output, divided alike
};

/// The number of equal parts of an input's last dimension that the op divides separately; 1: the
/// dimension as a whole.
std::int64_t matrices_read_by(Op op) {
  if (op == Op::Attention || op == Op::Rotary) return 3;
  return op == Op::Swiglu ? 2 : 1;
}

class ChannelDivider {
 public:
  ChannelDivider(const Graph& graph, std::int64_t shards, const std::string& what)
      : graph_(graph), shards_(shards), what_(what), result_(graph) {}

  ShardDivision run() {
    for (NodeId id = 0; id < size(); ++id) {
      if (!is_layer(graph_.node(id)) || taken_.contains(id)) continue;
      if (const auto block = block_of(id)) take(id, *block);
    }
    if (taken_.empty()) {
      refuse("the model has no layer whose channels only reach another layer's inputs",
             "use a strategy that divides the batch or the layers");
    }
    if (fewest_ < shards_) {
      const std::string most = std::to_string(fewest_);
      refuse("layer '" + graph_.node(narrowest_).layer + "' has " + most +
                 (are_heads_ ? " heads" : " channels"),
             "give at most " + most + " shards");
    }
    for (int pass = 0; pass < 2; ++pass) {  // a slot's own slot may be assigned first
      for (const Node& node : graph_.nodes()) deal_slots(node);
    }
    for (NodeId id = 0; id < size(); ++id) {
      std::vector<Portion>& outputs = result_.of_node[static_cast<std::size_t>(id)];
      outputs.assign(outputs.size(), portion_made(graph_.node(id)));
      if (graph_.node(id).op == Op::SoftmaxCrossEntropy) outputs[0] = Portion::Whole;
    }
    return std::move(result_);
  }

 private:
  NodeId size() const { return static_cast<NodeId>(graph_.nodes().size()); }
  Portion& of_variable(VariableId v) { return result_.of_variable[static_cast<std::size_t>(v)]; }
  std::int64_t& unit_of(VariableId v) {
    return result_.unit_of_variable[static_cast<std::size_t>(v)];
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& fix) const {
    throw RunError(ErrorKind::Usage, what_ + ": " + why + "; fix: " + fix);
  }

  /// Returns the block of a layer; empty if a node that depends on the outputs cannot work on some
  /// of the channels.
  std::optional<ChannelBlock> block_of(NodeId layer) {
    ChannelBlock block;
    block.divided.insert(layer);
    const Node& first = graph_.node(layer);
    if (!want(block, variable_read(graph_, first.inputs[1]), Portion::Rows)) return std::nullopt;
    const TensorType& weights = graph_.type(first.inputs[1]);
    if (weights.rank() == 3) block.matrices = weights.dim(0);
    for (NodeId id = layer + 1; id < size(); ++id) {
      const Node& node = graph_.node(id);
      const bool reached = std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
        return block.divided.contains(input.node);
      });
      if (!reached || node.phase != Phase::Forward) continue;
      if (!add(block, id)) return std::nullopt;
    }
    if (block.last.empty() || !has_all_readers(block, first.place.replica)) return std::nullopt;
    return block;
  }

  bool want(ChannelBlock& block, VariableId variable, Portion portion) {
    if (variable < 0) return false;
    const Portion before = of_variable(variable);  // already set by another replica that reads it
    if (before != Portion::Whole && before != portion) return false;
    return block.portions.try_emplace(variable, portion).first->second == portion;
  }

  bool add(ChannelBlock& block, NodeId id) {
    const Node& node = graph_.node(id);
    const auto is_divided = [&](Value value) { return block.divided.contains(value.node); };
    if (ends_with_loss(block, node)) {
      block.last.insert(id);
      return true;
    }
    if (is_layer(node)) {
      if (block.matrices != 1) return false;
      block.last.insert(id);
      return want(block, variable_read(graph_, node.inputs[1]), Portion::Channels);
    }
    block.divided.insert(id);
    if (is_depthwise(graph_, node)) {
      return want(block, variable_read(graph_, node.inputs[1]), Portion::Rows);
    }
    if (!works_by_channels(graph_, node) && !works_by_elements(node.op)) return false;
    if (const std::int64_t matrices = matrices_read_by(node.op); matrices != 1) {
      if (block.matrices != matrices) return false;
      if (node.attributes.has("heads")) block.heads = node.attributes.integer("heads");
      if (node.op != Op::Rotary) block.matrices = 1;
    }
    for (Value input : node.inputs) {
      if (is_divided(input)) continue;
      if (block.matrices != 1) return false;
      if (!want(block, variable_read(graph_, input), Portion::Channels)) return false;
    }
    return std::all_of(node.variables.begin(), node.variables.end(),
                       [&](VariableId v) { return want(block, v, Portion::Channels); });
  }

  /// Whether the node is the loss of a language model whose head is the table of its embedding: the
  /// tokens of the vocabulary are divided.
  bool ends_with_loss(const ChannelBlock& block, const Node& node) const {
    return node.op == Op::SoftmaxCrossEntropy && block.matrices == 1 && block.heads == 0 &&
           node.attributes.real("label_smoothing") == 0 &&
           std::any_of(block.portions.begin(), block.portions.end(),
                       [&](const auto& each) { return is_table(graph_, each.first); });
  }

  /// Whether no other part of the replica's model reads the block's variables, except as the table
  /// of an embedding.
  bool has_all_readers(const ChannelBlock& block, int replica) const {
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = graph_.node(id);
      const bool casts = node.op == Op::Cast && is_read(graph_, node.inputs[0]);
      const bool outside = !block.divided.contains(id) && !block.last.contains(id);
      if (!outside || casts || node.phase != Phase::Forward) continue;
      if (node.place.replica != replica) continue;
      for (Value input : node.inputs) {
        const auto read = block.portions.find(variable_read(graph_, input));
        if (read == block.portions.end()) continue;
        if (node.op != Op::Embed || read->second != Portion::Rows) return false;
      }
    }
    return true;
  }

  void take(NodeId layer, const ChannelBlock& block) {
    const TensorType& weights = graph_.type(graph_.node(layer).inputs[1]);
    const std::int64_t channels = weights.rank() == 3 ? weights.dim(1) : weights.dim(0);
    const std::int64_t parts = block.heads > 0 ? block.heads : channels;
    if (parts < fewest_) {
      narrowest_ = layer;
      fewest_ = parts;
      are_heads_ = block.heads > 0;
    }
    taken_.insert(block.divided.begin(), block.divided.end());
    taken_.insert(block.last.begin(), block.last.end());
    for (const auto& [variable, portion] : block.portions) {
      of_variable(variable) = portion;
      unit_of(variable) = channels / parts;
    }
  }

  /// Slots are divided like the variables that they belong to.
  void deal_slots(const Node& node) {
    if (!updates_by_elements(node.op)) return;
    Portion portion = Portion::Whole;
    std::int64_t unit = 1;
    for (VariableId v : node.variables) {
      if (portion == Portion::Whole) portion = of_variable(v);
      unit = std::max(unit, unit_of(v));
    }
    for (VariableId v : node.variables) {
      of_variable(v) = portion;
      unit_of(v) = unit;
    }
  }

  Portion portion_made(const Node& node) {
    if (node.op == Op::Read) return of_variable(node.variables[0]);
    std::vector<Portion> read;
    for (Value input : node.inputs) {
      const Portion made = result_.of(input);
      read.push_back(made == Portion::Term ? Portion::Whole : made);
    }
    std::vector<Portion> all = read;
    for (VariableId v : node.variables) all.push_back(of_variable(v));
    const auto all_are = [&](Portion portion) {
      return std::count(all.begin(), all.end(), portion) == std::ssize(all);
    };
    if (node.op == Op::Embed && read[1] == Portion::Rows) return Portion::Term;
    if (node.op == Op::EmbedBackward && is_of_divided_table(node)) return Portion::Rows;
    if (all_are(Portion::Whole)) return Portion::Whole;
    if (forward_of(node.op) == Op::SoftmaxCrossEntropy) return read[0];
    if (const auto op = dense_op_like(node.op)) return made_by_product(node, *op, read);
    if (works_by_channels(graph_, node) && all_are(Portion::Channels)) return Portion::Channels;
    const bool by_elements = works_by_elements(node.op) || updates_by_elements(node.op);
    if (by_elements && all_are(all.front())) return all.front();
    if (node.op == Op::Quotient) return all.front();  // its divisor is one number
    cannot_divide(node);
  }

  /// Whether the node yields the gradient of a table whose rows are divided.
  bool is_of_divided_table(const Node& backward) const {
    const auto& nodes = graph_.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return node.op == Op::Embed && node.inputs[0] == backward.inputs[1] &&
             node.place == backward.place &&
             graph_.type(node.inputs[1]).dim(0) == backward.attributes.integer("rows") &&
             result_.of(node.inputs[1]) == Portion::Rows;
    });
  }

  Portion made_by_product(const Node& node, Op op, const std::vector<Portion>& read) const {
    const bool grouped = node.attributes.has("groups");
    for (const ProductRule& rule : grouped ? std::span<const ProductRule>(kDepthwiseRules)
                                           : std::span<const ProductRule>(kProductRules)) {
      if (rule.op == op && rule.first == read[0] && rule.second == read[1]) return rule.result;
    }
    cannot_divide(node);
  }

  [[noreturn]] void cannot_divide(const Node& node) const {
    if (op_info(node.op).learns) {
      refuse("'" + std::string(to_string(node.op)) + "' in layer '" + node.layer +
                 "' updates whole matrices, of which a shard has some rows or columns",
             "give another optimizer of the workload, or a strategy that does not divide layers");
    }
    refuse("'" + std::string(to_string(node.op)) + "' in layer '" + node.layer +
               "' cannot work on some channels",
           "leave one of the strategies out");
  }

  const Graph& graph_;
  std::int64_t shards_;
  std::string what_;
  ShardDivision result_;
  std::set<NodeId> taken_;  ///< nodes of all blocks
  NodeId narrowest_ = -1;   ///< the layer divided by outputs with the fewest channels
  std::int64_t fewest_ = std::numeric_limits<std::int64_t>::max();  ///< its channels or heads
  bool are_heads_ = false;
};

}  // namespace

ShardDivision divide_channels(const Graph& graph, std::int64_t shards, const std::string& what) {
  return ChannelDivider(graph, shards, what).run();
}

}  // namespace regatta::strategies
