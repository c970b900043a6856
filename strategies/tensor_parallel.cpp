// SPDX-License-Identifier: Apache-2.0
//
// tensor_parallel: t shards compute on the same batch, each with a share of the channels of every
// layer that can be divided (channels.h); every shard computes the other layers in full. A shard's
// channels yield a term of a layer's outputs: an all_reduce sums the terms, in forward those of
// every second layer, in backward those of the first layer's input gradient. A ring sends 2 (t - 1)
// times the bytes of each sum. The first shard reads the batch and sends it to the others.
// Gradients need no exchange: a shard has all of those that it applies. Term: tensor parallelism.
// Source: Shoeybi et al., arXiv:1909.08053.
#include <string>

#include "kernels/base/error.h"
#include "kernels/rewrite/winograd.h"
#include "strategies/channels.h"
#include "strategies/shards.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step tensor_parallel(const Step& step, const StrategyOptions& options) {
  check(!has_winograd(step.graph), "convolutions are marked behind all strategies");
  const std::string what =
      "strategy 'tensor_parallel' with " + std::to_string(options.shards) + " shards";
  if (options.shards < 2) {
    throw RunError(ErrorKind::Usage,
                   "strategy 'tensor_parallel' divides channels among 2 or more shards, and there "
                   "is 1; fix: give --workers 2, or --shards 2 in a composition");
  }
  require_undivided(step, what);
  return ShardedStep(step, options.shards, divide_channels(step.graph, options.shards, what),
                     options.choice(kAlgorithm))
      .run();
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
    .options = options<kAlgorithm, kShardCount, kStagesPerProcess>,
    .rewrite = tensor_parallel,
    .elsewhere = {{{"megatron"}}}};

}  // namespace regatta::strategies
