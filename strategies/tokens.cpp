// SPDX-License-Identifier: Apache-2.0
#include "strategies/tokens.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/option.h"

namespace regatta::strategies {
namespace {

/// The relation of a shard's value to the batch: independent of it, a share of the tokens, or a
/// term of a sum over all tokens.
enum class Has : std::uint8_t { NoTokens, Tokens, Term };

/// Whether the op computes each token from that token alone, or is replaced.
bool divides_tokens(Op op) {
  switch (forward_of(op)) {
    case Op::Dense:
    case Op::Tanh:
    case Op::Relu:
    case Op::Gelu:
    case Op::Swiglu:
    case Op::Embed:
    case Op::Positions:
    case Op::LayerNormalize:
    case Op::Rotary:
    case Op::Attention:
    case Op::Add:
    case Op::Sum:
    case Op::Scale:
    case Op::Cast:
    case Op::SoftmaxCrossEntropy: return true;
    default: return false;
  }
}

/// Whether the output is a sum over tokens.
bool sums_tokens(Op op, int output) {
  switch (op) {
    case Op::DenseBackwardWeights:
    case Op::EmbedBackward:
    case Op::PositionsBackward:
    case Op::SoftmaxCrossEntropy: return output == 0;
    case Op::LayerNormalizeBackward: return output == 1;
    default: return false;
  }
}

bool is_linear(Op op) {
  return op == Op::Add || op == Op::Sum || op == Op::Scale || op == Op::Cast;
}

}  // namespace

void require_equal_shares(const Graph& graph, std::int64_t shards, const EqualShares& shares,
                          const std::string& what) {
  const auto attention = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                      [](const Node& node) { return node.op == Op::Attention; });
  if (attention == graph.nodes().end()) {
    throw RunError(ErrorKind::Usage,
                   what +
                       " divides sequences, and this workload has none; fix: take one of tokens, "
                       "such as gpt_tiny, gpt_thin or gpt_small");
  }
  const std::int64_t tokens = graph.type(attention->inputs[0]).dim(1);
  const std::int64_t heads = attention->attributes.integer("heads");
  const bool by_heads = shares.divide == EqualShares::Divide::TokensAndHeads;
  const auto fits = [&](std::int64_t count) {
    return tokens % (shares.chunks * count) == 0 && (!by_heads || heads % count == 0);
  };
  if (fits(shards)) return;
  std::vector<std::string> all;
  for (std::int64_t count = 2; count <= tokens; ++count) {
    if (fits(count)) all.push_back(std::to_string(count));
  }
  const std::vector<std::string_view> names(all.begin(), all.end());
  std::string shared = std::to_string(tokens) + " tokens";
  if (by_heads) shared += " and of " + std::to_string(heads) + " heads";
  if (shares.chunks > 1) shared += ", in " + std::to_string(shares.chunks) + " chunks each";
  const std::string multiple = std::to_string(2 * shares.chunks);
  throw RunError(ErrorKind::Usage,
                 what + ": all shards have equal shares of " + shared + "; fix: " +
                     (all.empty() ? "give a --context that is a multiple of " + multiple
                                  : enumerated(names) + " shards would do"));
}

ShardDivision divide_tokens(const Step& step, const std::string& what) {
  const Graph& graph = step.graph;
  ShardDivision division(graph);
  std::vector<std::vector<Has>> has;
  const auto of = [&](Value value) -> Has& {
    return has[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    has.emplace_back(node.outputs.size(), Has::NoTokens);
    const auto reads = [&](Has which) {
      return std::any_of(node.inputs.begin(), node.inputs.end(),
                         [&](Value input) { return of(input) == which; });
    };
    if (node.phase == Phase::Input) {
      std::fill(has.back().begin(), has.back().end(), Has::Tokens);
    } else if (reads(Has::Tokens)) {
      if (!divides_tokens(node.op)) {
        throw RunError(ErrorKind::Usage, what + ": '" + std::string(to_string(node.op)) +
                                             "' in layer '" + node.layer +
                                             "' cannot work on some tokens; fix: leave "
                                             "context_parallel out");
      }
      for (int i = 0; i < std::ssize(node.outputs); ++i) {
        of({id, i}) = sums_tokens(node.op, i) ? Has::Term : Has::Tokens;
      }
    } else if (reads(Has::Term) && node.phase == Phase::Backward && is_linear(node.op)) {
      has.back().front() = Has::Term;
    } else if (node.op != Op::AllReduce) {
      for (Value input : node.inputs) {
        if (of(input) == Has::Term) division.of(input) = Portion::Term;
      }
    } else if (reads(Has::Term)) {  // a sum over replicas takes their shards' terms
      division.of({id, 0}) = Portion::Term;
    }
  }
  for (Value loss : step.losses) division.of(loss) = Portion::Tokens;
  return division;
}

}  // namespace regatta::strategies
