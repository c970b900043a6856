// SPDX-License-Identifier: Apache-2.0
//
// sharded: like all_reduce by a ring, but each of n workers keeps a share of the parameters and of
// their slots, and updates only that. A step gathers the parameters (all_gather), computes, sums
// the gradients so that each worker has the sums of its share (reduce_scatter), and updates these.
// Shares are the ring's: the elements of each bucket that the ring completes at the worker. So
// additions have the ring's order, and results the ring's bits, except with NCCL. `--shard
// optimizer`: gradients stay until the step ends, as under all_reduce. `--shard gradients`: a
// bucket's sums are applied while backward makes the next bucket, and its memory is free for the
// one after that (with gradients clipped by their norm, the worker copies its share and applies it
// at the end; with microbatches, it adds up its shares of each, but in a pipeline whole gradients).
// `--shard parameters`: in addition, a bucket is a block of the model, or a part of one that is
// larger (in_units()), and its parameters are gathered for forward and again for backward, each
// while the bucket before it is used, into the memory of the one before that. The last two stay
// from forward to backward, as tied weights do that the model's end reads; with
// `--reshard-after-forward no` all stay until backward has used them. For M bytes of parameters and
// k slots a worker keeps (1 + k) M / n, and sends and receives 2 (n - 1) / n M a step, or nearly 3
// (n - 1) / n M if parameters are gathered twice. With one or two buckets no memory is freed: all
// three plan the same. Updates of whole matrices (muon) are dealt matrix by matrix
// (whole_updates.h), under `--shard optimizer` only.
// Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
// models", SC 2020: stages 1 to 3 (in the first two, there, a worker keeps the gathered parameters
// between steps); blocks as units: Zhao et al. 2023, arXiv 2304.11277 (FSDP).
#include <array>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"
#include "strategies/summed_replicas.h"
#include "strategies/whole_updates.h"

namespace regatta::strategies {
namespace {

constexpr std::array<std::string_view, 2> kReshardWords = {"yes", "no"};
constexpr Option kReshard = {
    .name = "reshard_after_forward",
    .help =
        "with --shard parameters: yes frees a block's parameters behind its forward pass and "
        "gathers them again for backward; no keeps them until then, which sends less",
    .unit = "",
    .type = Choice{.default_value = kReshardWords[0], .words = kReshardWords}};

void require_divisible_updates(const Step& step, const std::string& shard) {
  for (const Trainable& trainable : step.trainables) {
    if (!updates_whole(step.graph, trainable)) continue;
    throw RunError(ErrorKind::Usage,
                   "strategy 'sharded' with --shard " + shard + ": '" +
                       std::string(to_string(step.graph.node(trainable.updates.front()).op)) +
                       "' updates whole matrices, which only --shard optimizer deals to workers; "
                       "fix: give --shard optimizer or another optimizer of the workload");
  }
}

Step sharded(const Step& step, const StrategyOptions& options) {
  const Step replicas = summed_replicas(step, {.count = options.replicas,
                                               .alike = options.alike.replicas,
                                               .algorithm = std::string(kRing),
                                               .strategy = "sharded"});
  const std::string shard = options.choice(kShard);
  if (shard != kShardWords[0]) require_divisible_updates(step, shard);
  const bool frees_parameters = shard == kShardWords[2];
  const bool reshards = options.choice(kReshard) == kReshardWords[0];
  if (!reshards && !frees_parameters) {
    throw RunError(ErrorKind::Usage, kReshard.flag() + " no is for " + kShard.flag() +
                                         " parameters; fix: give this, too, or leave it out");
  }
  return to_share(frees_parameters ? in_units(replicas) : replicas,
                  {.gradients = shard != kShardWords[0],
                   .parameters = frees_parameters,
                   .after_forward = reshards});
}

}  // namespace

extern constinit const Strategy kSharded = {
    .name = "sharded",
    .term = "ZeRO-1, 2, 3; FSDP",
    .summary = "each worker keeps and updates a share of the parameters and their slots",
    .colour = "#6699CC",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfWorkers,
    .options = options<kShard, kReshard, kBucketBytes>,
    .rewrite = sharded,
    .elsewhere = {{{"zero"},
                   {"zero1"},
                   {"zero2", "--shard gradients"},
                   {"zero3", "--shard parameters"},
                   {"fsdp", "--shard parameters"}}},
    .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
