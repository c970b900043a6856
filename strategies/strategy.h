// SPDX-License-Identifier: Apache-2.0
//
// A strategy is a pure function from a step's graph to a graph placed on a cluster. This is the
// table of all of them, and their composition: `a+b` applies a, then b to its result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

struct StrategyOptions {
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t servers = 1;         ///< of parameter_server and parameter_server_async
  std::int64_t backup_workers = 0;  ///< of parameter_server: replicas beyond those of a step
  std::string all_reduce = "ring";
  Sharing sharing = Sharing::Relaxed;           ///< of async_shared
  std::int64_t bucket_bytes = 4 * 1024 * 1024;  ///< of all_reduce
};

using Rewrite = Step (*)(const Step& step, const StrategyOptions& options);

/// What `--workers` counts under a strategy.
enum class WorkersAre : std::uint8_t { One, Replicas, Stages };

/// How replicas keep together.
enum class Exchange : std::uint8_t {
  Nothing,      ///< a speed ceiling, never a claim about time to accuracy
  Synchronous,  ///< follows `single` at the same global batch within rounding
  Asynchronous,
};

/// Which processes a strategy can run over. Stages of one replica stay together.
enum class Processes : std::uint8_t {
  One,         ///< memory is shared, or one client holds one graph with all replicas
  OfWorkers,   ///< each builds its own part only: between-graph replication
  WithServers  ///< and parameters are on servers
};

struct Strategy {
  std::string_view name;
  std::string_view term;  ///< in the literature
  std::string_view summary;
  WorkersAre workers;
  Exchange exchange;
  Processes processes;
  Rewrite rewrite;
};

std::span<const Strategy> all_strategies();

/// One strategy or a composition, by name.
/// Throws: RunError(Usage) that names the nearest valid name.
std::vector<const Strategy*> find_strategies(const std::string& name);

/// Applies the strategies in order, then bucket(); verifies after each.
/// Throws: RunError(Usage) when a strategy cannot be applied, naming the rule.
Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options);

/// How many of a global batch's normalisation groups each replica has in a step. Backup workers
/// have what the first ones have once more.
std::vector<std::int64_t> dealt_groups(std::int64_t groups, const StrategyOptions& options);

/// Synchronous, unless a part is not.
Exchange exchange_of(std::span<const Strategy* const> strategies);

}  // namespace regatta
