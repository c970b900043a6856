// SPDX-License-Identifier: Apache-2.0
#include "strategies/summed_replicas.h"

#include <vector>

#include "strategies/replicas.h"

namespace regatta::strategies {

Step summed_replicas(const Step& step, const SummedReplicas& wanted) {
  Replicas replicas(step, {.count = wanted.count,
                           .alike = wanted.alike,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = Sharing::None,
                           .strategy = wanted.strategy});
  std::vector<std::vector<Value>> sums(replicas.trainables());
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      sums[t].push_back(replicas.at_update(t, r).all_reduce(
          replicas.gradient(t, r),
          {.group = static_cast<std::int64_t>(replicas.trainables() - 1 - t),
           .member = r,
           .members = wanted.count,
           .algorithm = wanted.algorithm,
           .alike = {.replicas = wanted.alike}}));
    }
  }
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.update(t, r, sums[t][static_cast<std::size_t>(r)]);
    }
  }
  return replicas.finish();
}

}  // namespace regatta::strategies
