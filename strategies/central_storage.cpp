// SPDX-License-Identifier: Apache-2.0
//
// central_storage: like in_graph, with parameters, slots, feed and update on the host: replicas
// hold only activations. For M bytes of parameters the host sends and receives n M a step.
// Term: tf.distribute.experimental.CentralStorageStrategy.
#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step central_storage(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::Home,
                           .feed = Feed::Central,
                           .home = {.replica = 0, .stage = 0, .role = Role::Host},
                           .sharing = Sharing::None,
                           .strategy = "central_storage"});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    replicas.update_at_home(t, replicas.at_home(t).sum(replicas.gradients(t)));
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kCentralStorage = {
    .name = "central_storage",
    .term = "CentralStorageStrategy",
    .summary = "parameters, slots and update on the host",
    .colour = "#56B4E9",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = {},
    .rewrite = central_storage};

}  // namespace regatta::strategies
