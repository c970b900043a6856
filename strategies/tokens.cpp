// SPDX-License-Identifier: Apache-2.0
#include "strategies/tokens.h"

#include <algorithm>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::strategies {
namespace {

/// The parts of a value that shards have: nothing of the batch, a share of its tokens, or a term of
/// a sum over all tokens.
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

Sequences sequences_of(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Attention) continue;
    return {.tokens = graph.type(node.inputs[0]).dim(1), .heads = node.attributes.integer("heads")};
  }
  return {};
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
                                             "' cannot work on some tokens");
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
