// SPDX-License-Identifier: Apache-2.0
//
// ad_psgd: every replica is its own loop and never waits for another's step. Every second replica,
// from the first on, is active: while it computes a gradient, it averages its parameters with those
// of a peer, one of the other replicas, drawn anew in each step. Both take the mean, whatever the
// peer is computing. Then the active replica updates its parameters; a peer updates without
// averaging. No replica averages with two at once, and waits form no cycle. A gradient is computed
// from the parameters as read, but applied to the parameters as averaged since. It is n times the
// replica's part of the global batch's gradient, so that n steps move the mean of all replicas as
// far as one synchronous step. Averages within a process are in memory; between processes,
// parameters travel while the gradient is computed (kernels/distribute/averages_between.h). Source:
// Lian et al. 2018, arXiv 1710.06952, with its bipartite graph of peers.
#include <vector>

#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

void average(Replicas& replicas, std::size_t t, std::int64_t r) {
  std::vector<VariableId> peers;
  for (std::int64_t peer = 1; peer < replicas.count(); peer += 2) {
    peers.push_back(replicas.parameter(t, peer));
  }
  if (peers.empty()) return;
  replicas.at_update(t, r).in(Phase::Communication).average(replicas.parameter(t, r), peers, r);
}

Step ad_psgd(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = options.replicas > 1 ? Sharing::Locked : Sharing::None,
                           .judged = Judged::Mean,
                           .strategy = "ad_psgd"});
  const auto count = static_cast<double>(replicas.count());
  for (std::size_t t = 0; t < replicas.trainables(); ++t) {
    for (std::int64_t r = 0; r < replicas.count(); r += 2) average(replicas, t, r);
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
    .processes = Processes::OfPlaces,
    .options = {},
    .rewrite = ad_psgd};

}  // namespace regatta::strategies
