// SPDX-License-Identifier: Apache-2.0
#include "strategies/recompute.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "strategies/shared_options.h"
#include "strategies/stages.h"

namespace regatta::strategies {
namespace {

constexpr NodeId kNever = std::numeric_limits<NodeId>::max();

/// The forward nodes of a place up to a point where one value crosses, or none.
struct Segment {
  std::vector<NodeId> nodes;
  NodeId crossing = -1;  ///< the node that makes the value
  std::int64_t bytes = 0;
};

class Recompute {
 public:
  Recompute(const Step& source, Recomputed which)
      : source_(source.graph),
        which_(which),
        result_(source),
        copier_(source.graph),
        groups_(first_free_group(source.graph)) {
    result_.graph = Graph();
    copier_.copy_variables(result_.graph);
    find_forward();
    find_readers();
    for (const auto& [place, nodes] : forward_) cut(nodes);
  }

  Step run() {
    for (NodeId id = 0; id < size(); ++id) {
      if (source_.node(id).phase == Phase::Backward) {
        copier_.map_outputs(id, result_.graph.add(in_backward(id)));
      } else {
        copier_.copy(id, result_.graph);
      }
    }
    if (copies_.empty()) {
      throw RunError(ErrorKind::Usage,
                     kRecompute.flag() +
                         ": no activation of this model can be recomputed to save "
                         "memory; leave it out");
    }
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  /// Facts of a node of the source.
  struct Facts {
    int index = -1;              ///< among the forward nodes of its place; -1: it is not one
    bool of_batch = false;       ///< whether it depends on the batch
    bool again = false;          ///< whether the backward pass uses a copy
    NodeId last_reader = -1;     ///< of forward
    NodeId first_need = kNever;  ///< of backward
  };

  NodeId size() const { return static_cast<NodeId>(source_.nodes().size()); }
  Facts& facts(NodeId id) { return facts_[static_cast<std::size_t>(id)]; }

  std::int64_t bytes_of(NodeId id) const {
    const Node& node = source_.node(id);
    std::int64_t bytes = 0;
    for (const TensorType& type : node.outputs) bytes += op_info(node.op).view ? 0 : type.bytes();
    return bytes;
  }

  void find_forward() {
    facts_.resize(source_.nodes().size());
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = source_.node(id);
      const bool of_batch = node.phase == Phase::Input ||
                            std::any_of(node.inputs.begin(), node.inputs.end(),
                                        [&](Value input) { return facts(input.node).of_batch; });
      facts(id).of_batch = of_batch;
      // A sum adds up losses of microbatches.
      const bool computes = node.phase == Phase::Forward && node.op != Op::Sum;
      if (!of_batch || !(is_sum_of_shards(id) || (computes && !op_info(node.op).crosses))) continue;
      std::vector<NodeId>& nodes = forward_[node.place];
      facts(id).index = static_cast<int>(nodes.size());
      facts(id).last_reader = id;
      nodes.push_back(id);
    }
  }

  /// Whether the node sums activations of a stage's shards, and the copy may, too.
  bool is_sum_of_shards(NodeId id) const {
    const Node& node = source_.node(id);
    return which_ == Recomputed::BlocksAndSums && node.op == Op::AllReduce &&
           pass_of(source_, node) == Phase::Forward;
  }

  bool is_forward_at(const Place& place, NodeId id) {
    return facts(id).index >= 0 && source_.node(id).place == place;
  }

  void find_readers() {
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = source_.node(id);
      for (const Value input : node.inputs) {
        if (node.phase == Phase::Backward) needed_.insert(input);
        if (!is_forward_at(node.place, input.node)) continue;
        Facts& maker = facts(input.node);
        if (facts(id).index >= 0) maker.last_reader = id;
        if (node.phase == Phase::Backward) maker.first_need = std::min(maker.first_need, id);
      }
    }
  }

  /// The forward node of the same place that follows a forward node.
  NodeId next(NodeId id) {
    const std::vector<NodeId>& nodes = forward_.at(source_.node(id).place);
    const auto after = static_cast<std::size_t>(facts(id).index) + 1;
    return after < nodes.size() ? nodes[after] : kNever;
  }

  /// Divides the forward nodes of a place into chains, between which nothing crosses, and these
  /// into segments.
  void cut(const std::vector<NodeId>& nodes) {
    std::vector<Segment> chain(1);
    std::set<NodeId> open;  // nodes with later readers
    for (const NodeId id : nodes) {
      open.insert(id);
      std::erase_if(open, [&](NodeId maker) { return facts(maker).last_reader <= id; });
      chain.back().nodes.push_back(id);
      chain.back().bytes += bytes_of(id);
      if (open.size() > 1) continue;
      if (open.empty()) {
        choose(chain);
        chain.clear();
      } else {
        chain.back().crossing = *open.begin();
      }
      chain.emplace_back();
    }
  }

  /// Chooses the nodes of a chain that are computed again.
  void choose(const std::vector<Segment>& chain) {
    const std::vector<int> block_of = blocks(chain);
    for (std::size_t begin = 0, end = 0; begin < chain.size(); begin = end) {
      std::vector<NodeId> block;
      while (end < chain.size() && block_of[end] == block_of[begin]) {
        block.insert(block.end(), chain[end].nodes.begin(), chain[end].nodes.end());
        ++end;
      }
      const NodeId kept = chain[end - 1].crossing;
      which_ == Recomputed::Cheap ? choose_cheap(block, kept) : choose_all(block, kept);
    }
  }

  void choose_all(const std::vector<NodeId>& block, NodeId kept) {
    NodeId need = kNever;
    for (const NodeId id : block) need = std::min(need, id == kept ? kNever : facts(id).first_need);
    if (need < next(block.back())) return;
    for (const NodeId id : block) facts(id).again = id != kept;
  }

  void choose_cheap(const std::vector<NodeId>& block, NodeId kept) {
    for (const NodeId id : block) {
      const std::vector<Value>& inputs = source_.node(id).inputs;
      const bool can_begin = std::all_of(inputs.begin(), inputs.end(), [&](Value input) {
        const Facts& maker = facts(input.node);
        return !maker.of_batch || maker.again || needed_.contains(input) ||
               source_.node(input.node).phase == Phase::Input;
      });
      const bool is_cheap = 2 * multiply_adds(source_, id) <= cost(source_, id);
      const bool frees = facts(id).first_need > next(facts(id).last_reader);
      facts(id).again = id != kept && can_begin && is_cheap && frees;
    }
  }

  /// Returns the block of each segment. Chains of equal nodes are divided alike, whatever their
  /// share of the batch, so that replicas gather shared parameters in one order.
  std::vector<int> blocks(const std::vector<Segment>& chain) {
    std::vector<std::string> key;
    std::vector<std::int64_t> bytes;
    for (const Segment& segment : chain) {
      const Node& last = source_.node(segment.nodes.back());
      key.push_back(last.layer + ' ' + std::string(to_string(last.op)));
      bytes.push_back(segment.bytes);
    }
    std::vector<int>& best = blocks_[key];
    if (!best.empty()) return best;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t count = 1; count <= std::ssize(chain); ++count) {
      const std::vector<int> dealt = deal_in_order(bytes, count);
      std::vector<std::int64_t> sums(static_cast<std::size_t>(count));
      std::int64_t kept = 0;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        sums[static_cast<std::size_t>(dealt[i])] += bytes[i];
        if (i > 0 && dealt[i] != dealt[i - 1]) kept += bytes_of(chain[i - 1].crossing);
      }
      const std::int64_t memory = kept + *std::max_element(sums.begin(), sums.end());
      if (memory < least) best = dealt;
      least = std::min(least, memory);
    }
    return best;
  }

  /// The backward node with the copies that it needs, which are appended before it.
  Node in_backward(NodeId id) {
    const Node& node = source_.node(id);
    Node result = copier_.translate(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value input = node.inputs[i];
      if (!is_forward_at(node.place, input.node) || !facts(input.node).again) continue;
      result.inputs[i].node = again(input.node);
    }
    return result;
  }

  NodeId again(NodeId id) {
    const auto [copy, is_new] = copies_.try_emplace(id);
    if (!is_new) return copy->second;
    Node node = in_backward(id);
    if (is_collective(node.op)) {
      node.attributes.set("group", groups_ + node.attributes.integer("group"));
    } else {
      node.phase = Phase::Backward;
    }
    if (op_info(node.op).assigns) node.variables.clear();  // running statistics
    copy->second = result_.graph.add(std::move(node));
    return copy->second;
  }

  const Graph& source_;
  Recomputed which_;
  Step result_;
  Copier copier_;
  std::int64_t groups_;                           ///< of collectives in the source
  std::vector<Facts> facts_;                      ///< by node
  std::map<Place, std::vector<NodeId>> forward_;  ///< in the order of the graph
  std::set<Value> needed_;                        ///< values that backward nodes read
  std::map<std::vector<std::string>, std::vector<int>> blocks_;
  std::map<NodeId, NodeId> copies_;
};

}  // namespace

Step recompute(const Step& step, Recomputed which) { return Recompute(step, which).run(); }

}  // namespace regatta::strategies
