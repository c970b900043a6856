// SPDX-License-Identifier: Apache-2.0
#include "strategies/microbatches.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {

Microbatches::Microbatches(const Step& source, std::int64_t count, Sums sums)
    : source_(source),
      count_(count),
      sums_(sums),
      groups_(first_free_group(source.graph)),
      result_(source),
      once_(source.graph) {
  result_.graph = Graph();
  once_.copy_variables(result_.graph);
  deal_nodes();
  check_count();
  find_leaving();
  for (std::int64_t k = 0; k < count; ++k) copiers_.emplace_back(source.graph);
  for (NodeId id = 0; id < size(); ++id) {
    if (part(id) == Part::Before) once_.copy(id, result_.graph);
  }
}

/// Whether the node is a sum of a microbatch of which each worker keeps a share.
bool Microbatches::gives_share(NodeId id) const {
  return sums_ == Sums::OfMicrobatch && frees_gradients(source_.graph.node(id));
}

void Microbatches::deal_nodes() {
  // Whether a node is of forward or backward, or a sum of activations for these. The last sum of a
  // tied weight's gradients is not: its stages exchange the sums of the batch, once a step; but if
  // each microbatch gives shares.
  std::vector<bool> computes(source_.graph.nodes().size());
  for (NodeId id = size() - 1; id >= 0; --id) {
    const Node& node = source_.graph.node(id);
    const auto at = static_cast<std::size_t>(id);
    if (node.phase == Phase::Forward || gives_share(id)) computes[at] = true;
    if (node.phase == Phase::Backward && node.op != Op::Add) computes[at] = true;
    for (Value input : node.inputs) {
      if (computes[at]) computes[static_cast<std::size_t>(input.node)] = true;
    }
  }
  NodeId last = -1;
  for (NodeId id = 0; id < size(); ++id) {
    const Node& node = source_.graph.node(id);
    bool after = false, of_batch = false;
    for (Value input : node.inputs) {
      after = after || part(input.node) == Part::After;
      of_batch = of_batch || has(input.node) || is_input(input);
    }
    Part own = Part::Before;
    if (node.phase != Phase::Input) {
      if (of_batch && !after && computes[static_cast<std::size_t>(id)]) {
        own = Part::Microbatch;
        last = id;
      } else if (after || of_batch || (last >= 0 && op_info(node.op).assigns)) {
        own = Part::After;
      }
    }
    parts_.push_back(own);
    if (node.attributes.has("round")) {
      rounds_ = std::max(rounds_, node.attributes.integer("round") + 1);
    }
  }
  std::replace(parts_.begin() + last + 1, parts_.end(), Part::Before, Part::After);
}

/// Checks the count against the smallest share of the batch.
void Microbatches::check_count() const {
  std::int64_t rows = source_.global_batch;
  for (NodeId id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    for (Value input : source_.graph.node(id).inputs) {
      if (is_input(input)) rows = std::min(rows, source_.graph.type(input).dim(0));
    }
  }
  const std::int64_t group = source_.normalization_group;
  if (count_ <= rows / group) return;
  throw RunError(ErrorKind::Usage, kMicrobatches.flag() + ' ' + std::to_string(count_) +
                                       " of a share of " + std::to_string(rows) +
                                       " examples in normalisation groups of " +
                                       std::to_string(group) + "; 1 to " +
                                       std::to_string(rows / group) + " are possible");
}

/// Finds values of microbatches that nodes outside of them use; these use the sums instead.
void Microbatches::find_leaving() {
  const auto note = [&](Value value) {
    if (has(value.node)) leaving_[value.node].insert(value);
  };
  for (NodeId id = 0; id < size(); ++id) {
    for (Value input : source_.graph.node(id).inputs) {
      has(id) ? static_cast<void>(read_inside_.insert(input)) : note(input);
    }
  }
  for (const Trainable& trainable : source_.trainables) note(trainable.gradient);
  for (Value loss : source_.losses) note(loss);
  read_inside_.insert(source_.losses.begin(), source_.losses.end());  // each is checked by itself
}

void Microbatches::add(NodeId id, std::int64_t microbatch) {
  Node node = source_.graph.node(id);
  if (op_info(node.op).assigns && node.attributes.has("momentum")) {
    node.attributes.set("momentum", momentum_of(node, microbatch));
  }
  for (Value& input : node.inputs) input = value(input, microbatch, node.place);
  for (VariableId& v : node.variables) v = once_.variable(v);
  if (is_collective(node.op)) {
    for (const auto& [name, all] : {std::pair("group", groups_), std::pair("round", rounds_)}) {
      if (!node.attributes.has(name)) continue;
      node.attributes.set(name, node.attributes.integer(name) + microbatch * all);
    }
  }
  copier(microbatch).map_outputs(id, result_.graph.add(std::move(node)));
  if (const auto found = leaving_.find(id); found != leaving_.end() && !gives_share(id)) {
    for (Value leaving : found->second) accumulate(leaving, microbatch);
  }
}

/// The value that a microbatch's node at `place` reads in place of `source`.
Value Microbatches::value(Value source, std::int64_t microbatch, const Place& place) {
  if (has(source.node)) return copier(microbatch).value(source);
  if (!is_input(source)) return once_.value(source);
  const auto [entry, is_new] = slices_.try_emplace({source, microbatch, place});
  if (is_new) {
    const std::vector<std::int64_t> rows = rows_of(source);
    const auto own = rows.begin() + microbatch;
    Builder builder(result_.graph);
    builder.at(place).in(Phase::Input).layer("input");
    entry->second = builder.slice(once_.value(source),
                                  std::accumulate(rows.begin(), own, std::int64_t{0}), *own);
  }
  return entry->second;
}

/// The number of examples in each microbatch of a share of the batch.
std::vector<std::int64_t> Microbatches::rows_of(Value batch) const {
  const std::int64_t group = source_.normalization_group;
  std::vector<std::int64_t> dealt = dealt_groups(source_.graph.type(batch).dim(0) / group, count_);
  for (std::int64_t& each : dealt) each *= group;
  return dealt;
}

double Microbatches::momentum_of(const Node& node, std::int64_t microbatch) const {
  const double momentum = node.attributes.real("momentum");
  const std::vector<std::int64_t> rows = rows_of(node.inputs[0]);
  const auto own = rows.begin() + microbatch;
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  const auto later = static_cast<double>(std::accumulate(own + 1, rows.end(), std::int64_t{0}));
  return momentum * static_cast<double>(*own) / (all - momentum * later);
}

void Microbatches::accumulate(Value value, std::int64_t microbatch) {
  const Value part = copier(microbatch).value(value);
  if (microbatch == 0) {
    once_.map(value, part);
    return;
  }
  const Node& node = source_.graph.node(value.node);
  Builder builder(result_.graph);
  builder.at(node.place).in(node.phase).layer(node.layer);
  Attributes attributes{{"factor", 1.0}};
  const bool is_own = !op_info(node.op).view && !op_info(node.op).crosses;
  if (is_own && !read_inside_.contains(value)) attributes.set("in_place", std::int64_t{1});
  once_.map(value, builder.node(Op::Sum, {once_.value(value), part}, std::move(attributes)));
}

void Microbatches::add_shares(std::int64_t microbatch) {
  for (const auto& [id, values] : leaving_) {
    if (!gives_share(id)) continue;
    const Node& node = source_.graph.node(id);
    Builder builder(result_.graph);
    builder.at(node.place).in(node.phase).layer(node.layer);
    for (Value value : values) {
      std::vector<Value> terms = {copier(microbatch).value(value)};
      Attributes attributes{{"factor", 1.0}};
      if (microbatch > 0) {
        terms.insert(terms.begin(), once_.value(value));
        attributes.set("in_place", std::int64_t{1});
      }  // the first is copied, because its bucket is used again
      once_.map(value, builder.node(Op::Sum, terms, std::move(attributes)));
    }
  }
}

Step Microbatches::finish() {
  for (NodeId id = 0; id < size(); ++id) {
    if (part(id) == Part::After) once_.copy(id, result_.graph);
  }
  once_.rename(result_);
  return std::move(result_);
}

Step accumulate(const Step& step, std::int64_t count) {
  Microbatches microbatches(step, count, Microbatches::Sums::OfMicrobatch);
  for (std::int64_t k = 0; k < count; ++k) {
    for (NodeId id = 0; id < std::ssize(step.graph.nodes()); ++id) {
      if (microbatches.has(id)) microbatches.add(id, k);
    }
    microbatches.add_shares(k);
  }
  return microbatches.finish();
}

}  // namespace regatta::strategies
