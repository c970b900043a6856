// SPDX-License-Identifier: Apache-2.0
//
// parameter_server_async: like parameter_server, but workers do not wait for each other. Every
// worker is its own loop that pulls, computes and pushes; a server applies each push when it
// arrives. Each block of kShardElements has a lock, so a block is pulled and updated atomically.
// There is no lock over all blocks: a pull of several may mix versions, none older than the version
// that it records. With `--staleness-bound s` no worker is more than s steps ahead of the slowest.
// Term: asynchronous ParameterServerStrategy; with a bound: stale-synchronous parallel, SSP.
#include "strategies/replicas.h"
#include "strategies/shard.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step parameter_server_async(const Step& step, const StrategyOptions& options) {
  const Step sharded = shard(step, options.count(kServers), "parameter_server_async");
  Replicas replicas(sharded, {.count = options.replicas,
                              .ownership = Ownership::Shared,
                              .feed = Feed::Each,
                              .home = {.replica = 0, .stage = 0, .role = Role::Server},
                              .sharing = Sharing::Locked,
                              .strategy = "parameter_server_async"});
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

extern constinit const Strategy kParameterServerAsync = {
    .name = "parameter_server_async",
    .term = "asynchronous ParameterServerStrategy, SSP",
    .summary = "parameters on servers; each push is applied when it arrives",
    .colour = "#999933",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Asynchronous,
    .processes = Processes::WithServers,
    .options = options<kServers, kStalenessBound, kBucketBytes>,
    .rewrite = parameter_server_async,
    .elsewhere = {{{"async_ps"}, {"ssp"}, {"downpour"}}}};

}  // namespace regatta::strategies
