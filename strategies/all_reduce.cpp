// SPDX-License-Identifier: Apache-2.0
//
// all_reduce: every replica owns its parameters and applies the same sum of all gradients, which a
// collective leaves at each of them. Gradients come last layer first, as backward makes them;
// bucket() merges them into messages. `--all-reduce` chooses how the sum is taken.
// Term: MirroredStrategy; between-graph replication over processes; DistributedDataParallel.
#include "strategies/replicas.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

Step all_reduce(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = Sharing::None,
                           .strategy = "all_reduce"});
  std::vector<std::vector<Value>> sums(replicas.trainables());
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      sums[t].push_back(replicas.at_update(t, r).all_reduce(
          replicas.gradient(t, r),
          {.group = static_cast<std::int64_t>(replicas.trainables() - 1 - t),
           .member = r,
           .members = replicas.count(),
           .algorithm = options.choice(kAlgorithm)}));
    }
  }
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.update(t, r, sums[t][static_cast<std::size_t>(r)]);
    }
  }
  return replicas.finish();
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
    .options = options<kAlgorithm, kBucketBytes>,
    .rewrite = all_reduce};

}  // namespace regatta
