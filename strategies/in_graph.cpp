// SPDX-License-Identifier: Apache-2.0
//
// in_graph: one graph holds all replicas. Parameters and the one update are on replica 0, which
// also feeds the others; parameters travel to them and their gradients back, where they are summed.
// For M bytes of parameters replica 0 sends and receives (n - 1) M a step, plus the input.
// Term: in-graph replication (TensorFlow 1), tf_cnn_benchmarks' local parameter_server.
#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step in_graph(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::Home,
                           .feed = Feed::Central,
                           .home = {.replica = 0, .stage = 0, .role = Role::Worker},
                           .sharing = Sharing::None,
                           .strategy = "in_graph"});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    replicas.update_at_home(t, replicas.at_home(t).sum(replicas.gradients(t)));
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kInGraph = {
    .name = "in_graph",
    .term = "in-graph replication",
    .summary = "one graph holds all replicas; parameters and update on replica 0",
    .colour = "#E69F00",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = {},
    .rewrite = in_graph};

}  // namespace regatta::strategies
