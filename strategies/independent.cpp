// SPDX-License-Identifier: Apache-2.0
//
// independent: n replicas that exchange nothing. Each trains its own model on its share of the
// data, and all run the same number of steps. The speed is an upper bound: that of n replicas if
// communication were free.
// Term: tf_cnn_benchmarks' --variable_update=independent.
#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step independent(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = Sharing::None,
                           .strategy = "independent"});
  for (std::size_t t = 0; t < replicas.trainables(); ++t) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.update(t, r, replicas.gradient(t, r));
    }
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kIndependent = {
    .name = "independent",
    .term = "tf_cnn_benchmarks independent",
    .summary = "replicas that exchange nothing: the ceiling on speed",
    .colour = "#9A9A9A",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Nothing,
    .processes = Processes::OfWorkers,
    .options = {},
    .rewrite = independent};

}  // namespace regatta::strategies
