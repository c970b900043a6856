// SPDX-License-Identifier: Apache-2.0
//
// powersgd: a gradient is exchanged as two thin matrices. It rewrites the gradient sums of the
// strategy before it, as in `all_reduce+powersgd`. M_i is the gradient of worker i, plus the error
// e_i left out so far, as a matrix [a, b]: a is the first dimension, or the rows of all P matrices
// of weights [P, O, I]:
//   P = sum of M_i Q, orthogonalised; Q = sum of M_i^T P; the gradient becomes P Q^T,
//   e_i = M_i - P Q^T / n.
// Q [b, r] starts at random, the same at every worker, and continues from the last step's. Vectors,
// and matrices with a side shorter than r, are exchanged whole. If r is a side of every matrix,
// only rounding is lost. Each of n workers sends 2 (n-1)/n r (a+b) numbers for a matrix by a ring,
// instead of 2 (n-1)/n a b. After sharded every worker computes all of P Q^T and applies its share
// of it; e_i and Q stay whole.
// Source: Vogels, Karimireddy, Jaggi 2019, arXiv 1905.13727, algorithms 1 and 2.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/period.h"
#include "strategies/gradient_sums.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kRank = {.name = "rank",
                          .help = "columns of the two matrices that a gradient is exchanged as",
                          .unit = "",
                          .type = Count{.default_value = 1, .least = 1, .most = 1024}};

TensorType matrix_of(const TensorType& type) {
  const std::int64_t rows = type.rank() == 3 ? type.dim(0) * type.dim(1) : type.dim(0);
  return {type.element, {rows, type.elements() / rows}};
}

struct Sum : GradientSum {
  bool whole = false;
  // These exist in the result:
  VariableId error = -1, factor = -1;
  Value matrix, left, right;
};

class PowerSgd {
 public:
  PowerSgd(const Step& source, std::int64_t rank)
      : source_(source),
        rank_(rank),
        groups_(first_free_group(source.graph)),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
    find_sums();
  }

  Step rewritten();

 private:
  void find_sums();
  Node node_of(const Sum& sum) const { return source_.graph.node(sum.node); }
  const TensorType& type_of(const Sum& sum) const { return source_.graph.type({sum.node, 0}); }
  Builder& at(const Sum& sum) {
    const Node& node = node_of(sum);
    return builder_.at(node.place).in(Phase::Update).layer(node.layer).only(period_of(node));
  }
  Value summed(const Sum& sum, Value value, std::int64_t round);
  static Value as(const TensorType& to, const TensorType& from, Value value, Builder& builder) {
    return from == to ? value : builder.view(value, to.dims);
  }
  void exchange();
  void add_variables(Sum& sum);
  void exchange_left(Sum& sum);
  void exchange_right(Sum& sum);
  void put_together(const Sum& sum);

  const Step& source_;
  std::int64_t rank_;
  std::vector<Sum> sums_;
  std::int64_t groups_;
  Step result_;
  Copier copier_;
  Builder builder_;
};

void PowerSgd::find_sums() {
  bool any_matrix = false;
  for (const GradientSum& each : gradient_sums(source_, "powersgd")) {
    const TensorType& type = source_.graph.type({each.node, 0});
    bool whole = type.rank() < 2;
    if (!whole) {
      const TensorType matrix = matrix_of(type);
      whole = std::min(matrix.dim(0), matrix.dim(1)) < rank_;
    }
    any_matrix = any_matrix || !whole;
    Sum sum;
    sum.whole = whole;
    sum.node = each.node;
    sum.parameter = each.parameter;
    sums_.push_back(sum);
  }
  if (!any_matrix) {
    throw RunError(ErrorKind::Usage, "--rank is " + std::to_string(rank_) +
                                         ": no gradient of this model is a matrix with sides as "
                                         "long; fix: give a smaller one");
  }
}

/// Sums of one round are sent together. The second round depends on the first. Sums marked for
/// division have round 0 for themselves.
Value PowerSgd::summed(const Sum& sum, Value value, std::int64_t round) {
  const Node node = node_of(sum);
  const Attributes& attributes = node.attributes;
  if (is_to_share(node)) ++round;
  return at(sum).all_reduce(value, {.group = attributes.integer("group") + round * groups_,
                                    .member = node.member,
                                    .members = attributes.integer("members"),
                                    .algorithm = attributes.text("algorithm"),
                                    .round = round});
}

void PowerSgd::add_variables(Sum& sum) {
  const TensorType matrix = matrix_of(type_of(sum));
  sum.error = result_.graph.add(slot_of(source_, sum, ".powersgd_error", matrix));
  Variable factor =
      slot_of(source_, sum, ".powersgd_factor", {matrix.element, {rank_, matrix.dim(1)}});
  factor.initializer = Initializer{.kind = Initializer::Kind::Normal};
  sum.factor = result_.graph.add(factor);
}

void PowerSgd::exchange_left(Sum& sum) {
  if (sum.whole) {
    copier_.copy(sum.node, result_.graph);
    return;
  }
  const Value gradient = copier_.value(node_of(sum).inputs[0]);
  const TensorType matrix = matrix_of(type_of(sum));
  Builder& builder = at(sum);
  sum.matrix = builder.add(as(matrix, type_of(sum), gradient, builder), builder.read(sum.error));
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
  const TensorType& type = type_of(sum);
  const Value gradient = as(type, matrix_of(type), product, builder);
  copier_.map({sum.node, 0}, replacement_of(node_of(sum), gradient, builder));
}

Step PowerSgd::rewritten() {
  copy_without({sums_.begin(), sums_.end()}, source_.graph, copier_, result_.graph,
               [this] { exchange(); });
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
    .summary = "after all_reduce, sharded or diloco: gradients as two thin matrices",
    .colour = "#DDCC77",
    .workers = WorkersAre::ThoseOfPrevious,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = options<kRank>,
    .rewrite = powersgd};

}  // namespace regatta::strategies
