// SPDX-License-Identifier: Apache-2.0
//
// parameter_server: parameters, slots and updates on k servers, divided by bytes. In a step each of
// the n workers pulls all parameters and pushes all gradients. A server's update waits for every
// worker and the next pull waits for the update, so a step is a barrier over the whole model. A
// server in its own process adds each push to the sum when it receives it, in the order of the
// workers, independent of the order of arrival (kernels/distribute/message_sums.h).
// For M bytes of parameters a worker receives and sends M a step, a server n M / k.
// Term: synchronous ParameterServerStrategy; Li et al., "Scaling distributed machine learning with
// the parameter server", OSDI 2014. With backup workers the graph is that of backup_workers.cpp.
#include "strategies/backup_workers.h"
#include "strategies/replicas.h"
#include "strategies/shard.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kBackupWorkers = {
    .name = "backup_workers",
    .help =
        "workers besides --workers: a step takes the first pushes, as many as --workers says, "
        "and drops late ones",
    .unit = "",
    .type = Count{.default_value = 0, .least = 0, .most = 1024}};

Step parameter_server(const Step& step, const StrategyOptions& options) {
  const Step sharded = shard(step, options.count(kServers), "parameter_server");
  if (const std::int64_t backups = options.count(kBackupWorkers); backups > 0) {
    return with_backup_workers(sharded, {.replicas = options.replicas, .backups = backups});
  }
  Replicas replicas(sharded, {.count = options.replicas,
                              .ownership = Ownership::Home,
                              .feed = Feed::Each,
                              .home = {.replica = 0, .stage = 0, .role = Role::Server},
                              .sharing = Sharing::None,
                              .strategy = "parameter_server"});
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    replicas.update_at_home(t, replicas.at_home(t).sum(replicas.gradients(t)));
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kParameterServer = {
    .name = "parameter_server",
    .term = "synchronous ParameterServerStrategy",
    .summary = "parameters and updates on servers; a step waits for every worker",
    .colour = "#009E73",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Synchronous,
    .processes = Processes::WithServers,
    .options = options<kServers, kBackupWorkers, kBucketBytes>,
    .rewrite = parameter_server,
    .elsewhere = {{{"ps"}}}};

}  // namespace regatta::strategies
