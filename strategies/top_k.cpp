// SPDX-License-Identifier: Apache-2.0
//
// top_k: only the largest elements of a gradient are exchanged. It rewrites the sums of gradients
// of the strategy before it, as in `all_reduce+top_k`. Let G_i be the gradient of worker i, and e_i
// the part that it has not sent so far. Each worker selects the k elements of G_i + e_i with the
// largest magnitude, k = max(1, round(share * elements)); e_i becomes the rest, which is zero with
// share 1. Every worker gathers the selections of all and adds them up in the order of the gathered
// shares (collective.h), so all workers get the same sum. Each of n workers sends 8 k (n - 1) bytes
// for a gradient: values and indices. After sharded a worker applies its share of the sum. After
// parameter_server a worker pushes its selection, 8 k bytes, and the server adds up in the order of
// the workers. After diloco the selection is of each outer gradient (SparseLoCo).
// Source: Stich, Cordonnier, Jaggi 2018, arXiv 1809.07599 (top-k with memory); of outer gradients:
// Sarfi et al. 2025, arXiv 2508.15706.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/listed_types.h"
#include "kernels/graph/period.h"
#include "strategies/gradient_sums.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kTopKShare = {
    .name = "share",
    .help = "share of a gradient's elements that are exchanged, those of largest magnitude",
    .unit = "",
    .type = Real{.default_value = 0.01, .least = 1e-6, .most = 1}};

std::int64_t selected_of(const TensorType& type, double share) {
  const auto count = std::llround(share * static_cast<double>(type.elements()));
  return std::max<std::int64_t>(1, count);
}

/// The sums of the workers' pushes to servers.
std::vector<GradientSum> sums_of_pushes(const Step& step) {
  std::vector<GradientSum> sums;
  for (const Trainable& each : step.trainables) {
    const Node& node = step.graph.node(each.gradient.node);
    if (node.op != Op::Sum || node.place.role != Role::Server) continue;
    sums.push_back({.node = each.gradient.node, .parameter = each.variable});
  }
  return sums;
}

class TopK {
 public:
  TopK(const Step& source, double share)
      : source_(source),
        share_(share),
        groups_(first_free_group(source.graph)),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
  }

  Step rewritten();

 private:
  Builder& at(const Node& node) {
    return builder_.at(node.place).in(Phase::Update).layer(node.layer).only(period_of(node));
  }
  std::int64_t count_of(const Node& sum) const { return selected_of(sum.outputs[0], share_); }
  Value select(const GradientSum& sum, Value gradient);
  Value gather(const GradientSum& sum);
  void add_up(const GradientSum& sum, Value selected);
  void exchange(const std::vector<GradientSum>& sums);
  void push(const GradientSum& sum);

  const Step& source_;
  double share_;
  std::int64_t groups_;
  Step result_;
  Copier copier_;
  Builder builder_;
};

/// Selects from a worker's gradient plus the error it has left out so far.
Value TopK::select(const GradientSum& sum, Value gradient) {
  const Node& node = source_.graph.node(sum.node);
  Variable slot = slot_of(source_, sum, ".top_k_error", node.outputs[0]);
  slot.place = source_.graph.node(gradient.node).place;
  const VariableId error = result_.graph.add(slot);

  Builder& builder = at(node).at(slot.place);
  const Value whole = builder.add(copier_.value(gradient), builder.read(error));
  const TopKValues values = builder.top_k(whole, count_of(node));
  builder.assign(values.rest, error);
  return values.selected;
}

Value TopK::gather(const GradientSum& sum) {
  const Node& node = source_.graph.node(sum.node);
  const Value selected = select(sum, node.inputs[0]);
  const std::int64_t members = node.attributes.integer("members");
  Attributes attributes{{"group", groups_ + node.attributes.integer("group")},
                        {"members", members},
                        {"algorithm", std::string(kRing)}};
  const TensorType all{ElementType::F32, {members * 2 * count_of(node)}};
  list_types(attributes, {&all, 1});
  return at(node).node(Op::AllGather, {selected}, std::move(attributes), {}, node.member);
}

void TopK::add_up(const GradientSum& sum, Value selected) {
  const Node& node = source_.graph.node(sum.node);
  Builder& builder = at(node);
  const Value made = builder.scatter_add(selected, count_of(node), node.outputs[0].dims);
  copier_.map({sum.node, 0}, replacement_of(node, made, builder));
}

void TopK::exchange(const std::vector<GradientSum>& sums) {
  std::vector<Value> gathered;
  for (const GradientSum& sum : sums) gathered.push_back(gather(sum));
  for (std::size_t i = 0; i < sums.size(); ++i) add_up(sums[i], gathered[i]);
}

void TopK::push(const GradientSum& sum) {
  const Node& node = source_.graph.node(sum.node);
  std::vector<Value> selected;
  for (Value gradient : node.inputs) selected.push_back(select(sum, gradient));
  add_up(sum, at(node).concatenate(selected));
}

Step TopK::rewritten() {
  const std::vector<GradientSum> pushes = sums_of_pushes(source_);
  if (pushes.empty()) {
    const std::vector<GradientSum> sums = gradient_sums(source_, "top_k");
    copy_without(sums, source_.graph, copier_, result_.graph, [&] { exchange(sums); });
  } else {
    copier_.copy_variables(result_.graph);
    for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
      const auto pushed = std::find_if(pushes.begin(), pushes.end(),
                                       [id](const GradientSum& sum) { return sum.node == id; });
      if (pushed == pushes.end()) {
        copier_.copy(id, result_.graph);
      } else {
        push(*pushed);
      }
    }
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
    .summary = "after all_reduce, sharded, diloco or servers: gradients as their largest elements",
    .colour = "#BB33DD",
    .workers = WorkersAre::ThoseOfPrevious,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = options<kTopKShare>,
    .rewrite = top_k,
    .elsewhere = {{{.name = "dgc", .is = OtherName::Is::Near}}}};

}  // namespace regatta::strategies
