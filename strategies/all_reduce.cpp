// SPDX-License-Identifier: Apache-2.0
//
// all_reduce: every replica owns its parameters and applies the same sum of all gradients, which a
// collective computes at each of them. Gradients come last layer first, in the order in which
// backward makes them; bucket() merges them into messages. `--all-reduce` selects the algorithm.
// Term: MirroredStrategy; between-graph replication over processes; DistributedDataParallel.
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "strategies/summed_replicas.h"
#include "strategies/summing.h"

namespace regatta::strategies {
namespace {

Step all_reduce(const Step& step, const StrategyOptions& options) {
  return summed_replicas(step, {.count = options.replicas,
                                .alike = options.alike.replicas,
                                .algorithm = algorithm_of(options),
                                .strategy = "all_reduce"});
}

}  // namespace

extern constinit const Strategy kAllReduce = {
    .name = "all_reduce",
    .term = "MirroredStrategy",
    .summary = "every replica owns its parameters; gradients are summed by a collective",
    .colour = "#0072B2",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfWorkers,
    .options = options<kAlgorithm, kTorusSides, kBucketBytes>,
    .rewrite = all_reduce,
    .elsewhere = {{{"ddp"}, {"data_parallel"}, {"horovod"}, {"multi_worker_mirrored"}}},
    .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
