// SPDX-License-Identifier: Apache-2.0
#include "strategies/strategy.h"

#include <algorithm>
#include <array>

#include "kernels/graph/bucket.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"
#include "kernels/graph/names.h"
#include "kernels/graph/verify.h"
#include "strategies/rewrites.h"

namespace regatta {
namespace {

constexpr std::array kStrategies = {
    Strategy{.name = "single",
             .term = "baseline",
             .summary = "every node on one worker",
             .workers = WorkersAre::One,
             .exchange = Exchange::Synchronous,
             .processes = Processes::One,
             .rewrite = single},
    Strategy{.name = "independent",
             .term = "tf_cnn_benchmarks independent",
             .summary = "replicas that exchange nothing: the ceiling on speed",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Nothing,
             .processes = Processes::OfWorkers,
             .rewrite = independent},
    Strategy{.name = "in_graph",
             .term = "in-graph replication",
             .summary = "one graph holds all replicas; parameters and update on replica 0",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Synchronous,
             .processes = Processes::One,
             .rewrite = in_graph},
    Strategy{.name = "central_storage",
             .term = "CentralStorageStrategy",
             .summary = "parameters, slots and update on the host",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Synchronous,
             .processes = Processes::One,
             .rewrite = central_storage},
    Strategy{.name = "all_reduce",
             .term = "MirroredStrategy",
             .summary = "every replica owns its parameters; gradients are summed by a collective",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Synchronous,
             .processes = Processes::OfWorkers,
             .rewrite = all_reduce},
    Strategy{.name = "parameter_server",
             .term = "synchronous ParameterServerStrategy",
             .summary = "parameters and updates on servers; a step waits for every worker",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Synchronous,
             .processes = Processes::WithServers,
             .rewrite = parameter_server},
    Strategy{.name = "parameter_server_async",
             .term = "asynchronous ParameterServerStrategy, SSP",
             .summary = "parameters on servers; each push is applied when it arrives",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Asynchronous,
             .processes = Processes::WithServers,
             .rewrite = parameter_server_async},
    Strategy{.name = "async_shared",
             .term = "Hogwild, asynchronous SGD",
             .summary = "replicas update one copy in shared memory without waiting",
             .workers = WorkersAre::Replicas,
             .exchange = Exchange::Asynchronous,
             .processes = Processes::One,
             .rewrite = async_shared},
    Strategy{.name = "model_parallel",
             .term = "model parallelism",
             .summary = "layers dealt to stages, balanced by cost",
             .workers = WorkersAre::Stages,
             .exchange = Exchange::Synchronous,
             .processes = Processes::One,
             .rewrite = model_parallel},
};

const Strategy& find_one(const std::string& name) {
  std::vector<std::string> names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy;
    names.emplace_back(strategy.name);
  }
  throw unknown_name("strategy", name, names);
}

}  // namespace

std::span<const Strategy> all_strategies() { return kStrategies; }

std::vector<const Strategy*> find_strategies(const std::string& name) {
  std::vector<const Strategy*> found;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(name.find('+', begin), name.size());
    found.push_back(&find_one(name.substr(begin, end - begin)));
    if (end == name.size()) return found;
    begin = end + 1;
  }
}

Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options) {
  verify(step, "building the workload");
  Step result = step;
  for (const Strategy* strategy : strategies) {
    result = strategy->rewrite(result, options);
    verify(result, std::string(strategy->name));
  }
  return bucket(result, options.bucket_bytes);
}

std::vector<std::int64_t> dealt_groups(std::int64_t groups, const StrategyOptions& options) {
  std::vector<std::int64_t> dealt;
  for (std::int64_t r = 0; r < options.replicas + options.backup_workers; ++r) {
    dealt.push_back(share(groups, options.replicas, r % options.replicas).size());
  }
  return dealt;
}

Exchange exchange_of(std::span<const Strategy* const> strategies) {
  for (const Strategy* strategy : strategies) {
    if (strategy->exchange != Exchange::Synchronous) return strategy->exchange;
  }
  return Exchange::Synchronous;
}

}  // namespace regatta
