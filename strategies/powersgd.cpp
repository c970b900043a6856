// SPDX-License-Identifier: Apache-2.0
//
// powersgd: a gradient is exchanged as two thin matrices. It rewrites the sums of gradients of a
// strategy that is there, as in `all_reduce+powersgd`. With M_i the gradient of worker i as a
// matrix [a, b], its first dimension by all others, plus what was left out so far (e_i):
//   P = sum of M_i Q, orthogonalised; Q = sum of M_i^T P; the gradient becomes P Q^T,
//   e_i = M_i - P Q^T / n.
// Q [b, r] starts at random, the same at every worker, and from then on from the last step's.
// Vectors, and matrices with a side shorter than r, are exchanged whole. Where r is a side of every
// matrix nothing is left out but rounding.
// Each of n workers sends 2 (n-1)/n r (a+b) numbers for a matrix by a ring, instead of a b.
// Source: Vogels, Karimireddy, Jaggi 2019, arXiv 1905.13727, algorithms 1 and 2.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr Option kRank = {.name = "rank",
                          .help = "columns of the two matrices that a gradient is exchanged as",
                          .unit = "",
                          .type = Count{.usual = 1, .least = 1, .most = 1024}};

/// A gradient as a matrix: its first dimension by all others.
TensorType matrix_of(const TensorType& type) {
  return {type.element, {type.dim(0), type.elements() / type.dim(0)}};
}

/// The sum of one gradient at one worker.
struct Sum {
  NodeId node = -1;           ///< the all_reduce, in the source
  VariableId parameter = -1;  ///< in the source
  bool whole = false;
  // In the result:
  VariableId error = -1, factor = -1;
  Value matrix, left, right;
};

class PowerSgd {
 public:
  PowerSgd(const Step& source, std::int64_t rank)
      : source_(source),
        rank_(rank),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
    find_sums();
  }

  Step rewritten();

 private:
  void find_sums();
  const Node& node_of(const Sum& sum) const { return source_.graph.node(sum.node); }
  const TensorType& type_of(const Sum& sum) const { return node_of(sum).outputs[0]; }
  Builder& at(const Sum& sum) {
    const Node& node = node_of(sum);
    return builder_.at(node.place).in(Phase::Update).layer(node.layer);
  }
  Value summed(const Sum& sum, Value value, std::int64_t round);
  void exchange();
  void add_variables(Sum& sum);
  void exchange_left(Sum& sum);
  void exchange_right(Sum& sum);
  void put_together(const Sum& sum);

  const Step& source_;
  std::int64_t rank_;
  std::vector<Sum> sums_;
  std::int64_t groups_ = 0;
  Step result_;
  Copier copier_;
  Builder builder_;
};

void PowerSgd::find_sums() {
  std::map<Value, VariableId> parameters;
  for (const Trainable& each : source_.trainables) parameters[each.gradient] = each.variable;
  bool any_matrix = false;
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    const Node& node = source_.graph.node(id);
    if (node.op != Op::AllReduce || !parameters.contains({id, 0})) continue;
    const TensorType& type = node.outputs[0];
    const TensorType matrix = type.rank() > 1 ? matrix_of(type) : type;
    const bool whole = type.rank() < 2 || std::min(matrix.dim(0), matrix.dim(1)) < rank_;
    any_matrix = any_matrix || !whole;
    groups_ = std::max(groups_, node.attributes.integer("group") + 1);
    sums_.push_back({.node = id, .parameter = parameters.at({id, 0}), .whole = whole});
  }
  if (sums_.empty()) {
    throw RunError(ErrorKind::Usage,
                   "strategy 'powersgd' compresses sums of gradients, and there are none; fix: put "
                   "it behind a strategy that has them, such as all_reduce+powersgd");
  }
  if (!any_matrix) {
    throw RunError(ErrorKind::Usage, "--rank is " + std::to_string(rank_) +
                                         ": no gradient of this model is a matrix with sides as "
                                         "long; fix: give a smaller one");
  }
  std::stable_sort(sums_.begin(), sums_.end(), [&](const Sum& a, const Sum& b) {
    return node_of(a).attributes.integer("group") < node_of(b).attributes.integer("group");
  });
}

/// Sums of one round travel together; those of the second are made of those of the first.
Value PowerSgd::summed(const Sum& sum, Value value, std::int64_t round) {
  const Attributes& attributes = node_of(sum).attributes;
  return at(sum).all_reduce(value, {.group = attributes.integer("group") + round * groups_,
                                    .member = attributes.integer("member"),
                                    .members = attributes.integer("members"),
                                    .algorithm = attributes.text("algorithm"),
                                    .round = round});
}

void PowerSgd::add_variables(Sum& sum) {
  const TensorType matrix = matrix_of(type_of(sum));
  Variable slot = source_.graph.variable(sum.parameter);
  const std::string name = slot.name;
  slot.kind = VariableKind::Slot;
  slot.name = name + ".powersgd_error";
  slot.type = matrix;
  slot.initializer = {};
  sum.error = result_.graph.add(slot);
  slot.name = name + ".powersgd_factor";
  slot.type = {matrix.element, {rank_, matrix.dim(1)}};
  slot.initializer = {.kind = Initializer::Kind::Normal, .scale = 1, .source = {}};
  sum.factor = result_.graph.add(slot);
}

void PowerSgd::exchange_left(Sum& sum) {
  const Value gradient = copier_.value(node_of(sum).inputs[0]);
  if (sum.whole) {
    copier_.map({sum.node, 0}, summed(sum, gradient, 0));
    return;
  }
  const TensorType matrix = matrix_of(type_of(sum));
  Builder& builder = at(sum);
  const Value flat = builder.reshape(gradient, {matrix.dim(1)});
  sum.matrix = builder.add(flat, builder.read(sum.error));
  sum.left = summed(sum, builder.dense(sum.matrix, builder.read(sum.factor)), 0);
}

void PowerSgd::exchange_right(Sum& sum) {
  Builder& builder = at(sum);
  sum.left = builder.orthogonalize(sum.left);
  sum.right = summed(sum, builder.node(Op::DenseBackwardWeights, {sum.left, sum.matrix}), 1);
}

void PowerSgd::put_together(const Sum& sum) {
  Builder& builder = at(sum);
  const Value product = builder.node(Op::DenseBackwardData, {sum.left, sum.right});
  const double share = 1 / static_cast<double>(node_of(sum).attributes.integer("members"));
  builder.assign(builder.add(sum.matrix, builder.scale(product, -share)), sum.error);
  builder.assign(sum.right, sum.factor);
  std::vector<std::int64_t> dims = type_of(sum).dims;
  dims.erase(dims.begin());
  copier_.map({sum.node, 0}, builder.reshape(product, dims));
}

/// Behind the last sum all gradients are there, and nothing has read a sum yet.
Step PowerSgd::rewritten() {
  copier_.copy_variables(result_.graph);
  std::set<NodeId> replaced;
  for (const Sum& sum : sums_) replaced.insert(sum.node);
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    if (!replaced.contains(id)) copier_.copy(id, result_.graph);
    if (id == *replaced.rbegin()) exchange();
  }
  copier_.rename(result_);
  return std::move(result_);
}

void PowerSgd::exchange() {
  for (Sum& sum : sums_) {
    if (!sum.whole) add_variables(sum);
  }
  for (Sum& sum : sums_) exchange_left(sum);
  for (Sum& sum : sums_) {
    if (!sum.whole) exchange_right(sum);
  }
  for (const Sum& sum : sums_) {
    if (!sum.whole) put_together(sum);
  }
}

Step powersgd(const Step& step, const StrategyOptions& options) {
  return PowerSgd(step, options.count(kRank)).rewritten();
}

}  // namespace

extern constinit const Strategy kPowerSgd = {
    .name = "powersgd",
    .term = "PowerSGD",
    .summary = "behind all_reduce: gradients as two thin matrices",
    .colour = "#DDCC77",
    .workers = WorkersAre::OfOthers,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = options<kRank>,
    .rewrite = powersgd};

}  // namespace regatta
