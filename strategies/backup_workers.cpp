// SPDX-License-Identifier: Apache-2.0
//
// parameter_server with b backup workers: a step takes the first n pushes of n + b workers. Each
// worker is a loop of its own, as in parameter_server_async, with its share of the global batch as
// parameter_server deals it to n; backup worker n + i has the share of worker i once more, and all
// n + b draw their examples of the data order together. Between a push and the updates of a server
// stands a quorum: a push that comes late, after the parameters it was computed from were replaced,
// is dropped; the n-th that counts sums them and updates once. Shares may be uneven: then a step
// has the examples of who came first, and its gradient is the mean over these. The first server
// decides for all. Pushes lie where they arrive until then, n + b of them: which of them are terms,
// in the order of the workers, is known only when the last has come.
// For M bytes of parameters a worker receives and sends M for each of its steps.
// Term: backup workers, Chen et al., "Revisiting distributed synchronous SGD", 2016; TensorFlow's
// SyncReplicasOptimizer.
#include <utility>
#include <vector>

#include "strategies/replicas.h"
#include "strategies/rewrites.h"
#include "strategies/shard.h"

namespace regatta {
namespace {

/// Trainables by the server that holds them, last layer first.
std::vector<std::vector<std::size_t>> trainables_of_servers(const Step& sharded,
                                                            std::int64_t servers) {
  std::vector<std::vector<std::size_t>> held(static_cast<std::size_t>(servers));
  for (std::size_t t = sharded.trainables.size(); t-- > 0;) {
    const Node& update = sharded.graph.node(sharded.trainables[t].updates.front());
    held.at(static_cast<std::size_t>(update.place.stage)).push_back(t);
  }
  return held;
}

}  // namespace

Step backup_workers(const Step& step, const StrategyOptions& options) {
  const Step sharded = shard(step, options.servers, "parameter_server");
  Replicas replicas(sharded, {.count = options.replicas + options.backup_workers,
                              .backups = options.backup_workers,
                              .ownership = Ownership::Shared,
                              .feed = Feed::Each,
                              .home = {.replica = 0, .stage = 0, .role = Role::Server},
                              .sharing = Sharing::Quorum,
                              .strategy = "parameter_server"});
  const auto held = trainables_of_servers(sharded, options.servers);
  for (std::int64_t r = 0; r < replicas.count(); ++r) {
    Value verdict;
    for (const std::vector<std::size_t>& trainables : held) {
      std::vector<Value> gradients;
      for (std::size_t t : trainables) gradients.push_back(replicas.gradient(t, r));
      Builder server = replicas.at_shared(trainables.front(), r);
      const QuorumValues quorum = server.layer("quorum").quorum(std::move(gradients),
                                                                {.needed = options.replicas,
                                                                 .member = r,
                                                                 .members = replicas.count(),
                                                                 .examples = replicas.examples(r)},
                                                                verdict);
      verdict = quorum.verdict;
      for (std::size_t i = 0; i < trainables.size(); ++i) {
        replicas.update(trainables[i], r, quorum.sums[i]);
      }
    }
  }
  return replicas.finish();
}

}  // namespace regatta
