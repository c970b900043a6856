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
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/listed_types.h"
#include "strategies/gradient_sums.h"
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
        sums_(gradient_sums(source, "top_k")),
        groups_(first_free_group(source.graph)),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
  }

  Step rewritten();

 private:
  Builder& at(const Node& node) {
    return builder_.at(node.place).in(Phase::Update).layer(node.layer);
  }
  Value gather(const GradientSum& sum);
  void add_up(const GradientSum& sum, Value gathered);

  const Step& source_;
  double share_;
  std::vector<GradientSum> sums_;
  std::int64_t groups_;
  Step result_;
  Copier copier_;
  Builder builder_;
};

Value TopK::gather(const GradientSum& sum) {
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
  return builder.node(Op::AllGather, {values.selected}, std::move(attributes));
}

void TopK::add_up(const GradientSum& sum, Value gathered) {
  const Node& node = source_.graph.node(sum.node);
  const TensorType& type = node.outputs[0];
  copier_.map({sum.node, 0}, at(node).scatter_add(gathered, selected_of(type, share_), type.dims));
}

Step TopK::rewritten() {
  copy_without(sums_, source_.graph, copier_, result_.graph, [this] {
    std::vector<Value> gathered;
    for (const GradientSum& sum : sums_) gathered.push_back(gather(sum));
    for (std::size_t i = 0; i < sums_.size(); ++i) add_up(sums_[i], gathered[i]);
  });
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
