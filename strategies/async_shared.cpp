// SPDX-License-Identifier: Apache-2.0
//
// async_shared: one copy of parameters and slots in shared memory. Every replica is a loop of its
// own: it reads, computes, and applies its own term of the gradient without waiting for anyone,
// either with relaxed atomics or with a lock for each shard (`--sharing`).
// Term: Hogwild (Niu et al., arXiv:1106.5730), asynchronous SGD.
#include "strategies/replicas.h"
#include "strategies/rewrites.h"

namespace regatta {

Step async_shared(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::Shared,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = options.sharing,
                           .strategy = "async_shared"});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.update(t, r, replicas.gradient(t, r));
    }
  }
  return replicas.finish();
}

}  // namespace regatta
