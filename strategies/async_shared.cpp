// SPDX-License-Identifier: Apache-2.0
//
// async_shared: one copy of parameters and slots in shared memory. Every replica is its own loop:
// it reads, computes and applies its term of the gradient without waiting for other replicas,
// either with relaxed atomics or with a lock for each shard (`--sharing`).
// Term: Hogwild (Niu et al., arXiv:1106.5730), asynchronous SGD.
#include <array>

#include "strategies/replicas.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr std::string_view kRelaxed = "relaxed";
constexpr std::string_view kLocked = "locked";
constexpr std::array kWays = {kRelaxed, kLocked};
constexpr Option kSharing = {.name = "sharing",
                             .help = "how parameters are shared: relaxed atomics, or locked shards",
                             .unit = "",
                             .type = Choice{.default_value = kRelaxed, .words = kWays}};

Step async_shared(const Step& step, const StrategyOptions& options) {
  Replicas replicas(
      step, {.count = options.replicas,
             .ownership = Ownership::Shared,
             .feed = Feed::Each,
             .home = {},
             .sharing = options.choice(kSharing) == kLocked ? Sharing::Locked : Sharing::Relaxed,
             .strategy = "async_shared"});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      replicas.update(t, r, replicas.gradient(t, r));
    }
  }
  Step result = replicas.finish();
  result.staleness_bound = options.count_if_any(kStalenessBound);
  return result;
}

}  // namespace

extern constinit const Strategy kAsyncShared = {
    .name = "async_shared",
    .term = "Hogwild, asynchronous SGD",
    .summary = "replicas update one copy in shared memory without waiting",
    .colour = "#D55E00",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Asynchronous,
    .processes = Processes::One,
    .options = options<kSharing, kStalenessBound>,
    .rewrite = async_shared,
    .elsewhere = {{{"hogwild"}}}};

}  // namespace regatta::strategies
