// SPDX-License-Identifier: Apache-2.0
//
// tensor_parallel: t shards compute on the same batch, each with a share of the channels of every
// layer that can be divided (channels.h); every shard computes the other layers in full. Layers are
// divided in pairs. A shard's channels yield only a term of the second layer's outputs and,
// backward, of the first layer's input gradient; an all_reduce sums the terms. A ring sends 2 (t -
// 1) times the bytes of each sum. The first shard reads the batch and sends it to the others. The
// vocabulary of a language model is divided, too (vocabulary.h), and so are, with
// --sequence-parallel, the tokens between these layers (sequence.h). Gradients of parameters need
// no exchange, except those of gains with --sequence-parallel. Term: tensor parallelism. Source:
// Shoeybi et al., arXiv:1909.08053.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/rewrite/winograd.h"
#include "strategies/channels.h"
#include "strategies/sequence.h"
#include "strategies/shards.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "strategies/vocabulary.h"

namespace regatta::strategies {
namespace {

constexpr std::array<std::string_view, 2> kNoOrYes = {"no", "yes"};
constexpr Option kSequenceParallel = {
    .name = "sequence_parallel",
    .help =
        "yes: between divided layers each shard has a share of the tokens, which saves memory for "
        "one more exchange of activations in backward for each pair of layers",
    .unit = "",
    .type = Choice{.default_value = kNoOrYes[0], .words = kNoOrYes}};

Step tensor_parallel(const Step& step, const StrategyOptions& options) {
  check(!has_winograd(step.graph), "convolutions are marked behind all strategies");
  const std::string what =
      "strategy 'tensor_parallel' with " + std::to_string(options.shards) + " shards";
  require_divisible(step, options.shards, what);
  ShardDivision division = divide_channels(step.graph, options.shards, what);
  const bool by_tokens = options.choice(kSequenceParallel) == kNoOrYes[1];
  if (by_tokens) {
    division = divide_sequence(step.graph, std::move(division), options.shards, what);
  }
  ShardedStep sharded(step, options.shards, std::move(division), options.choice(kAlgorithm),
                      options.alike.shards);
  TokenExchange exchange(sharded);
  sharded.join_by([&](Value of, const std::vector<Value>& terms) { exchange.join(of, terms); });
  return sharded.run([&](NodeId id) {
    exchange.prepare(id);
    return exchange.replace(id) || replace_by_vocabulary(sharded, id);
  });
}

}  // namespace

extern constinit const Strategy kTensorParallel = {
    .name = "tensor_parallel",
    .term = "tensor parallelism",
    .summary = "the channels of layers divided among shards, which sum activations",
    .colour = "#117733",
    .workers = WorkersAre::Shards,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = options<kAlgorithm, kShardCount, kSequenceParallel, kStagesPerProcess>,
    .rewrite = tensor_parallel,
    .elsewhere = {{{"megatron"}, {"sequence_parallel", "--sequence-parallel yes"}}},
    .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
