// SPDX-License-Identifier: Apache-2.0
//
// top_k: of a gradient only the largest elements are exchanged. It rewrites the sums of gradients
// of a strategy that is there, as in `all_reduce+top_k`. With G_i the gradient of worker i and e_i
// what it has left out so far, each worker takes the k elements of largest magnitude of G_i + e_i,
// k = max(1, round(share * elements)), gathers those of all workers, and adds them up in the order
// of the gathered shares (collective.h), the same at every worker; e_i becomes the rest. Of all
// elements (share 1) nothing is left out. Each of n workers sends 8 k (n - 1) bytes for a gradient:
// values and indices. Source: Stich, Cordonnier, Jaggi 2018, arXiv 1809.07599 (top-k with memory).
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"
#include "kernels/graph/listed_types.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr Option kTopKShare = {
    .name = "share",
    .help = "share of a gradient's elements that are exchanged, those of largest magnitude",
    .unit = "",
    .type = Real{.usual = 0.01, .least = 1e-6, .most = 1}};

std::int64_t selected_of(const TensorType& type, double share) {
  const auto count = std::llround(share * static_cast<double>(type.elements()));
  return std::max<std::int64_t>(1, count);
}

class TopK {
 public:
  TopK(const Step& source, double share)
      : source_(source),
        share_(share),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
    find_sums();
  }

  Step rewritten();

 private:
  /// The sum of one gradient at one worker.
  struct Sum {
    NodeId node = -1;           ///< the all_reduce, in the source
    VariableId parameter = -1;  ///< in the source
    Value gathered;             ///< in the result
  };

  void find_sums();
  Builder& at(const Node& node) {
    return builder_.at(node.place).in(Phase::Update).layer(node.layer);
  }
  void gather(Sum& sum);
  void add_up(const Sum& sum);

  const Step& source_;
  double share_;
  std::map<NodeId, VariableId> parameters_;  ///< of the sums
  std::vector<Sum> sums_;                    ///< by group
  std::int64_t groups_ = 0;
  Step result_;
  Copier copier_;
  Builder builder_;
};

void TopK::find_sums() {
  std::map<Value, VariableId> parameters;
  for (const Trainable& each : source_.trainables) parameters[each.gradient] = each.variable;
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    const Node& node = source_.graph.node(id);
    if (node.op != Op::AllReduce) continue;
    groups_ = std::max(groups_, node.attributes.integer("group") + 1);
    if (!parameters.contains({id, 0})) continue;
    parameters_[id] = parameters.at({id, 0});
    sums_.push_back({.node = id, .parameter = parameters.at({id, 0}), .gathered = {}});
  }
  if (sums_.empty()) {
    throw RunError(ErrorKind::Usage,
                   "strategy 'top_k' compresses sums of gradients, and there are none; fix: put it "
                   "behind a strategy that has them, such as all_reduce+top_k");
  }
  const auto group = [&](const Sum& sum) {
    return source_.graph.node(sum.node).attributes.integer("group");
  };
  std::stable_sort(sums_.begin(), sums_.end(),
                   [&](const Sum& a, const Sum& b) { return group(a) < group(b); });
}

void TopK::gather(Sum& sum) {
  const Node& node = source_.graph.node(sum.node);
  Variable slot = source_.graph.variable(sum.parameter);
  slot.kind = VariableKind::Slot;
  slot.name += ".top_k_error";
  slot.type = node.outputs[0];
  slot.initializer = {};
  const VariableId error = result_.graph.add(slot);

  Builder& builder = at(node);
  const Value whole = builder.add(copier_.value(node.inputs[0]), builder.read(error));
  const std::int64_t count = selected_of(slot.type, share_);
  const TopKValues values = builder.top_k(whole, count);
  builder.assign(values.rest, error);
  const std::int64_t members = node.attributes.integer("members");
  Attributes attributes{{"group", groups_ + node.attributes.integer("group")},
                        {"member", node.attributes.integer("member")},
                        {"members", members},
                        {"algorithm", std::string(kRing)}};
  const TensorType all{ElementType::F32, {members * 2 * count}};
  list_types(attributes, {&all, 1});
  sum.gathered = builder.node(Op::AllGather, {values.selected}, std::move(attributes));
}

void TopK::add_up(const Sum& sum) {
  const Node& node = source_.graph.node(sum.node);
  const TensorType& type = node.outputs[0];
  copier_.map({sum.node, 0},
              at(node).scatter_add(sum.gathered, selected_of(type, share_), type.dims));
}

/// Behind the last sum all gradients are there, and nothing has read a sum yet.
Step TopK::rewritten() {
  copier_.copy_variables(result_.graph);
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    if (!parameters_.contains(id)) copier_.copy(id, result_.graph);
    if (id != parameters_.rbegin()->first) continue;
    for (Sum& sum : sums_) gather(sum);
    for (const Sum& sum : sums_) add_up(sum);
  }
  copier_.rename(result_);
  return std::move(result_);
}

Step top_k(const Step& step, const StrategyOptions& options) {
  return TopK(step, options.real(kTopKShare)).rewritten();
}

}  // namespace

extern constinit const Strategy kTopK = {
    .name = "top_k",
    .term = "top-k sparsification with error feedback",
    .summary = "behind all_reduce: the largest elements of gradients",
    .colour = "#BB33DD",
    .workers = WorkersAre::OfOthers,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = options<kTopKShare>,
    .rewrite = top_k};

}  // namespace regatta
