// SPDX-License-Identifier: Apache-2.0
//
// local_sgd: every replica trains on its own, with the mean gradient of its share of the batch.
// After every H-th step all replicas take the mean of their parameters, weighted by examples; each
// keeps its own slots and statistics. A ring sends 2 (n-1)/n M bytes in H steps, for M bytes of
// parameters. With `--sync-from` (post-local SGD) they average after every step until that one. If
// updates are linear in the gradient, as SGD's with momentum, H = 1 follows `single`.
// Source: Stich 2019, arXiv 1805.09767; post-local: Lin et al. 2020, arXiv 1808.07217.
#include "strategies/averages.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "strategies/summing.h"

namespace regatta::strategies {
namespace {

constexpr Option kSyncFrom = {
    .name = "sync_from",
    .help = "steps at the start that each end with that mean (post-local SGD)",
    .unit = "steps",
    .type = Count{.default_value = 0}};

Step local_sgd(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = Sharing::None,
                           .judged = Judged::Mean,
                           .strategy = "local_sgd"});
  update_alone(replicas, step.global_batch);
  const Period period{.every = options.count(kSyncEvery), .from = options.count(kSyncFrom)};
  const std::vector<std::vector<Value>> means =
      mean_values(replicas, step.global_batch,
                  {.value = [&](Builder& builder, std::size_t t,
                                std::int64_t r) { return builder.read(replicas.parameter(t, r)); },
                   .period = [&](std::size_t) { return period; },
                   .algorithm = algorithm_of(options)});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.at_update(t, r).only(period).assign(means[t][static_cast<std::size_t>(r)],
                                                   replicas.parameter(t, r));
    }
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kLocalSgd = {
    .name = "local_sgd",
    .term = "local SGD, periodic averaging",
    .summary = "replicas train alone and average parameters every few steps",
    .colour = "#332288",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Periodic,
    .processes = Processes::OfWorkers,
    .options = options<kSyncEvery, kSyncFrom, kAlgorithm, kTorusSides, kBucketBytes>,
    .rewrite = local_sgd,
    .elsewhere = {{{"fedavg"},
                   {"periodic_averaging"},
                   {.name = "easgd", .is = OtherName::Is::Near},
                   {.name = "elastic_averaging", .is = OtherName::Is::Near}}}};

}  // namespace regatta::strategies
