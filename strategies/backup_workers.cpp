// SPDX-License-Identifier: Apache-2.0
//
// parameter_server with b backup workers: a step takes the first n pushes of n + b workers. Each
// worker is its own loop, as in parameter_server_async. Its share of the global batch is as large
// as in parameter_server with n workers; backup n + i has a share as large as that of worker i. All
// n + b workers take their examples from one data order. A quorum stands between the pushes and a
// server's updates. A push is late, and dropped, if its parameters have been replaced since they
// were read; the n-th push that counts sums all n and updates once. If shares are uneven, a step's
// gradient is the mean over the examples of the workers that counted. The first server decides for
// all servers. A push arrives when every server has it; the others report this to the first. Each
// step therefore takes the same workers on all servers, and a worker that dies during a push is in
// none. (TensorFlow's accumulators decide for each variable, so a step may mix workers.) A server
// keeps up to n + b pushes where they arrived: it sums in the order of the workers, and the terms
// are known only at the n-th push. For M bytes of parameters a worker receives and sends M in each
// of its steps. Term: backup workers, Chen et al., "Revisiting distributed synchronous SGD", 2016;
// TensorFlow's SyncReplicasOptimizer.
#include "strategies/backup_workers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/replicas.h"

namespace regatta::strategies {
namespace {

/// Returns the trainables of each server, last layer first.
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

/// Appends a worker's pushes to all servers, and the updates after them.
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

}  // namespace regatta::strategies
