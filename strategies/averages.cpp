// SPDX-License-Identifier: Apache-2.0
#include "strategies/averages.h"

namespace regatta::strategies {
namespace {

double share(const Replicas& replicas, std::int64_t replica, std::int64_t global_batch) {
  return static_cast<double>(replicas.examples(replica)) / static_cast<double>(global_batch);
}

}  // namespace

/// A gradient is a replica's part of the sum over the global batch. Divided by the replica's share
/// of the batch, it is the mean over the replica's examples.
void update_alone(Replicas& replicas, std::int64_t global_batch) {
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      Builder builder = replicas.at_update(t, r);
      replicas.update(t, r,
                      builder.scale(replicas.gradient(t, r), 1 / share(replicas, r, global_batch)));
    }
  }
}

std::vector<std::vector<Value>> mean_values(Replicas& replicas, std::int64_t global_batch,
                                            const Averages& averages) {
  std::vector<std::vector<Value>> means(replicas.trainables());
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      Builder builder = replicas.at_update(t, r).only(averages.period(t));
      const Value own = averages.value(builder, t, r);
      means[t].push_back(
          builder.all_reduce(builder.scale(own, share(replicas, r, global_batch)),
                             {.group = static_cast<std::int64_t>(replicas.trainables() - 1 - t),
                              .member = r,
                              .members = replicas.count(),
                              .algorithm = averages.algorithm,
                              .mark = averages.mark}));
    }
  }
  return means;
}

}  // namespace regatta::strategies
