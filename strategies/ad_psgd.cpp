// SPDX-License-Identifier: Apache-2.0
//
// ad_psgd: every replica is its own loop and waits for none. With its gradient, it averages its
// parameters with those of a peer that it draws anew in each step: both take the mean, whatever the
// peer is computing meanwhile. Then it updates its own. A gradient is that of the parameters as
// they were read, and is applied to what averages have made of them since. A gradient is n times a
// replica's share of the global batch's, so that n steps move the mean of all as far as one step of
// a synchronous strategy. In memory no bytes travel; averages are by blocks of kShardElements,
// whose locks are held two by two in an order without a cycle, so that any replica may be a peer.
// Source: Lian et al. 2018, arXiv 1710.06952, whose own program keeps waits from going round by a
// bipartite graph of peers.
#include <vector>

#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

void average(Replicas& replicas, std::size_t t, std::int64_t r) {
  std::vector<VariableId> others;
  for (std::int64_t other = 0; other < replicas.count(); ++other) {
    if (other != r) others.push_back(replicas.parameter(t, other));
  }
  if (others.empty()) return;
  replicas.at_update(t, r).in(Phase::Communication).average(replicas.parameter(t, r), others, r);
}

Step ad_psgd(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = options.replicas > 1 ? Sharing::Locked : Sharing::None,
                           .strategy = "ad_psgd"});
  const auto count = static_cast<double>(replicas.count());
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) average(replicas, t, r);
  }
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      const Value own = replicas.gradient(t, r);
      const Value gradient = count > 1 ? replicas.at_update(t, r).scale(own, count) : own;
      replicas.update(t, r, gradient);
    }
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kAdPsgd = {
    .name = "ad_psgd",
    .term = "asynchronous decentralized parallel SGD",
    .summary = "replicas train alone and average with a peer without waiting",
    .colour = "#8855FF",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Asynchronous,
    .processes = Processes::One,
    .options = {},
    .rewrite = ad_psgd};

}  // namespace regatta
