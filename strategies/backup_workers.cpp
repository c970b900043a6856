// SPDX-License-Identifier: Apache-2.0
//
// parameter_server with b backup workers: a step takes the first n pushes of n + b workers. Each
// worker is a loop of its own, as in parameter_server_async, with its share of the global batch as
// parameter_server deals it to n; backup worker n + i has the share of worker i once more, and all
// n + b draw their examples of the data order together. Between a push and the updates of a server
// stands a quorum: a push that comes late, after the parameters it was computed from were replaced,
// is dropped; the n-th that counts sums them and updates once. Shares may be uneven: then a step
// has the examples of who came first, and its gradient is the mean over these. The first server
// decides for all, and a push has come when all servers have it, which they tell the first: so each
// step is of the same workers on all servers, and a worker that dies while it pushes is in none.
// (TensorFlow's accumulators decide variable by variable, and a step may mix workers.) Pushes lie
// where they arrive until then, n + b of them: which of them are terms, in the order of the
// workers, is known only when the last has come. For M bytes of parameters a worker receives and
// sends M for each of its steps. Term: backup workers, Chen et al., "Revisiting distributed
// synchronous SGD", 2016; TensorFlow's SyncReplicasOptimizer.
#include "strategies/backup_workers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/replicas.h"

namespace regatta {
namespace {

/// Trainables by the server that holds them, last layer first.
std::vector<std::vector<std::size_t>> trainables_by_server(const Step& sharded) {
  std::vector<std::vector<std::size_t>> held;
  for (std::size_t t = sharded.trainables.size(); t-- > 0;) {
    const Node& update = sharded.graph.node(sharded.trainables[t].updates.front());
    const auto server = static_cast<std::size_t>(update.place.stage);
    held.resize(std::max(held.size(), server + 1));
    held[server].push_back(t);
  }
  return held;
}

/// What a worker pushes, to all servers, and the updates behind it.
void push(Replicas& replicas, const std::vector<std::vector<std::size_t>>& held, std::int64_t r) {
  std::vector<Builder> servers;
  std::vector<std::vector<Value>> gradients;  // by server
  std::vector<Value> arrivals;
  for (const std::vector<std::size_t>& trainables : held) {
    servers.push_back(replicas.at_shared(trainables.front(), r).layer("quorum"));
    std::vector<Value>& own = gradients.emplace_back();
    for (std::size_t t : trainables) own.push_back(replicas.gradient(t, r));
    if (servers.size() > 1) arrivals.push_back(servers.back().arrival(own));
  }
  const QuorumSeat seat{.needed = replicas.count() - replicas.backups(),
                        .member = r,
                        .members = replicas.count(),
                        .examples = replicas.examples(r)};
  Value verdict;
  for (std::size_t s = 0; s < held.size(); ++s) {
    const QuorumValues quorum = s == 0 ? servers[s].quorum(gradients[s], seat, arrivals)
                                       : servers[s].follow_quorum(gradients[s], seat, verdict);
    verdict = quorum.verdict;
    for (std::size_t i = 0; i < held[s].size(); ++i) {
      replicas.update(held[s][i], r, quorum.sums[i]);
    }
  }
}

}  // namespace

Step with_backup_workers(const Step& sharded, const WorkersAndBackups& workers) {
  Replicas replicas(sharded, {.count = workers.replicas + workers.backups,
                              .backups = workers.backups,
                              .ownership = Ownership::Shared,
                              .feed = Feed::Each,
                              .home = {.replica = 0, .stage = 0, .role = Role::Server},
                              .sharing = Sharing::Quorum,
                              .strategy = "parameter_server"});
  const auto held = trainables_by_server(sharded);
  for (std::int64_t r = 0; r < replicas.count(); ++r) push(replicas, held, r);
  return replicas.finish();
}

}  // namespace regatta
