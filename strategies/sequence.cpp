// SPDX-License-Identifier: Apache-2.0
#include "strategies/sequence.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::strategies {
namespace {

bool is_term_of_tokens(const Graph& graph, const ShardDivision& division, Value value) {
  return division.of(value) == Portion::Term && graph.type(value).rank() == 3;
}

/// Whether the op treats each token separately, except in gradients of parameters.
bool works_by_tokens(Op op) {
  return op == Op::Add || op == Op::Sum || op == Op::Scale || op == Op::Cast ||
         forward_of(op) == Op::LayerNormalize;
}

/// Whether the op may be applied to the terms of a sum, before the sum or at one shard only.
bool is_of_term(Op op) { return op == Op::Positions || op == Op::AllReduce; }

bool is_read_once(const Graph& graph, Value value) {
  std::ptrdiff_t readers = 0;
  for (const Node& node : graph.nodes()) {
    readers += std::count(node.inputs.begin(), node.inputs.end(), value);
  }
  return readers == 1;
}

/// The portions of the node's outputs if each input is rows, or a term that can be summed to rows.
std::vector<Portion> portions_of_rows(const Graph& graph, const ShardDivision& division,
                                      const Node& node) {
  const bool normalizes = forward_of(node.op) == Op::LayerNormalize;
  const std::size_t gain = normalizes ? node.op == Op::LayerNormalize ? 1 : 2 : node.inputs.size();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value input = node.inputs[i];
    const bool has_rows = division.of(input) == Portion::Tokens;
    if (i != gain && !has_rows && !is_term_of_tokens(graph, division, input)) return {};
  }
  std::vector<Portion> portions(node.outputs.size(), Portion::Tokens);
  if (node.op == Op::LayerNormalizeBackward) portions[1] = Portion::Term;
  return portions;
}

/// Throws: RunError(Usage) that lists the possible numbers of shards, up to that of heads.
void require_divisor(const Graph& graph, std::int64_t tokens, std::int64_t shards,
                     const std::string& what) {
  if (tokens % shards == 0) return;
  std::int64_t most = tokens;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::Attention) most = std::min(most, node.attributes.integer("heads"));
  }
  std::string possible;
  for (std::int64_t n = 2; n <= most; ++n) {
    if (tokens % n == 0) possible += (possible.empty() ? "" : ", ") + std::to_string(n);
  }
  throw RunError(
      ErrorKind::Usage,
      what + ": --sequence-parallel divides the " + std::to_string(tokens) +
          " tokens of a sequence evenly; fix: " +
          (possible.empty() ? "leave it out" : "give a number of shards of " + possible));
}

}  // namespace

ShardDivision divide_sequence(const Graph& graph, ShardDivision division, std::int64_t shards,
                              const std::string& what) {
  bool has_tokens = false;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    if (is_of_term(node.op) && division.of(node.inputs[0]) == Portion::Term &&
        is_read_once(graph, node.inputs[0])) {
      division.of({id, 0}) = Portion::Term;
    }
    if (!works_by_tokens(node.op) || node.phase == Phase::Update) continue;
    const std::vector<Portion> portions = portions_of_rows(graph, division, node);
    if (portions.empty()) continue;
    division.of_node[static_cast<std::size_t>(id)] = portions;
    if (!has_tokens) require_divisor(graph, graph.type(node.inputs[0]).dim(1), shards, what);
    has_tokens = true;
  }
  if (has_tokens) return division;
  throw RunError(ErrorKind::Usage, what +
                                       ": --sequence-parallel divides tokens between layers, and "
                                       "this model has none; fix: leave it out");
}

TokenExchange::TokenExchange(ShardedStep& step) : step_(step) {
  const Graph& graph = step.source();
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const bool passes = is_of_term(graph.node(id).op) && portion_of_first(id) == Portion::Term;
    if (!passes && portion_of_first(id) != Portion::Tokens) continue;
    for (Value input : graph.node(id).inputs)
      (passes ? read_as_terms_ : read_as_rows_).insert(input);
  }
}

Portion TokenExchange::portion_of_first(NodeId id) const {
  return step_.source().node(id).outputs.empty() ? Portion::Whole : step_.division().of({id, 0});
}

void TokenExchange::prepare(NodeId id) {
  const Node& node = step_.source().node(id);
  for (Value input : node.inputs) {
    if (step_.division().of(input) == Portion::Tokens && !rows_.contains(input)) {
      for (std::int64_t s = 0; s < step_.built(); ++s) {
        rows_[input].push_back(step_.copier(s).value(input));
      }
    }
    if (!rows_.contains(input)) continue;
    const bool takes_rows = portion_of_first(id) == Portion::Tokens;
    step_.map(input, takes_rows ? rows_.at(input) : whole(input, node.phase));
  }
}

const std::vector<Value>& TokenExchange::whole(Value value, Phase phase) {
  std::vector<Value>& all = whole_[{value, phase}];
  if (all.empty()) {
    Attributes attributes{{"frees", std::int64_t{1}},
                          {"length", step_.source().type(value).dim(1)}};
    const bool again =
        phase == Phase::Backward && step_.source().node(value.node).phase == Phase::Forward;
    if (again) attributes.set("again", std::int64_t{1});
    all = step_.all_gather(value, rows_.at(value), std::move(attributes));
  }
  return all;
}

bool TokenExchange::replace(NodeId id) {
  const Node& node = step_.source().node(id);
  if (node.op != Op::Positions || step_.division().of({id, 0}) != Portion::Term) return false;
  std::vector<Value> terms{{step_.copy(id, 0), 0}};
  for (std::int64_t s = 1; s < step_.built(); ++s) {
    terms.push_back(step_.copier(s).value(node.inputs[0]));
  }
  join({id, 0}, terms);
  return true;
}

void TokenExchange::join(Value value, const std::vector<Value>& terms) {
  if (read_as_terms_.contains(value)) {
    step_.map(value, terms);
  } else if (read_as_rows_.contains(value)) {
    rows_[value] = step_.reduce_scatter(value, terms);
  } else {
    step_.map(value, step_.all_reduce(value, terms));
  }
}

}  // namespace regatta::strategies
