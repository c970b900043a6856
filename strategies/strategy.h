// SPDX-License-Identifier: Apache-2.0
//
// A strategy is a pure function from a step's graph to a graph placed on a cluster. This is the
// table of all strategies, and their composition: `a+b` applies a, then b to its result.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"
#include "strategies/option.h"

namespace regatta {

using Rewrite = Step (*)(const Step& step, const StrategyOptions& options);

/// The meaning of `--workers` under a strategy.
enum class WorkersAre : std::uint8_t {
  One,
  Replicas,
  Stages,
  Shards,           ///< of layers; they take the place of stages
  ThoseOfPrevious,  ///< those of the strategy before it; it rewrites that one's exchange
};

/// Whether several workers together have one replica of the model.
constexpr bool share_a_replica(WorkersAre workers) {
  return workers == WorkersAre::Stages || workers == WorkersAre::Shards;
}

/// How replicas are synchronised.
enum class Exchange : std::uint8_t {
  Nothing,      ///< none: an upper bound on speed, without a claim about time to accuracy
  Synchronous,  ///< follows `single` at the same global batch within rounding
  Compressed,   ///< like Synchronous, with approximated gradients
  Periodic,     ///< each trains alone and averages parameters in some steps or with a few others
  Asynchronous,
};

/// The processes in which a strategy can run.
enum class Processes : std::uint8_t {
  One,         ///< one worker, or shared memory
  OfPlaces,    ///< several; their replicas, stages and host send values to each other
  OfWorkers,   ///< several; their replicas communicate by collectives, if at all
  WithServers  ///< several, and servers that hold the parameters
};

/// The strategy's name in another library: lower case, without `strategy`.
struct OtherName {
  enum class Is : std::uint8_t { Equal, Near };
  std::string_view name = {};
  std::string_view flags = {};  ///< flags that the strategy needs here, such as `--shard
                                ///< parameters`
  Is is = Is::Equal;
};

struct Strategy {
  std::string_view name;
  std::string_view term;  ///< the literature's name for it
  std::string_view summary;
  std::string_view colour;  ///< colour of its lines in figures, `#RRGGBB`
  WorkersAre workers;
  Exchange exchange;
  Processes processes;
  std::span<const Option* const> options;
  Rewrite rewrite;
  std::array<OtherName, 6> elsewhere = {};
};

std::span<const Strategy* const> all_strategies();

/// The strategy's name or, if it rewrites another strategy's result, that of a composition.
std::string runnable_name(const Strategy& strategy);

/// Every option of every strategy, each once, in the order of the table.
std::span<const Option* const> all_options();

/// The options that `strategies` declare, each once.
std::vector<const Option*> options_of(std::span<const Strategy* const> strategies);

/// The strategies that declare `option`, as `parameter_server and parameter_server_async`.
std::string names_of_declarers(const Option& option);

/// Checks the options given for a strategy or composition. Throws: RunError(Usage) for an option
/// that it does not declare (with the strategies that do) and for an invalid value.
void check_options(const std::string& strategy, const OptionValues& given);

/// Returns one strategy or a composition by name. Throws: RunError(Usage) with the strategy that
/// has this name elsewhere, or the nearest valid name.
std::vector<const Strategy*> find_strategies(const std::string& name);

/// Applies the strategies in order, then bucket(); verifies after each. Throws: RunError(Usage)
/// with the broken rule if a strategy cannot be applied.
Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options);

/// Returns the number of normalisation groups of each replica in a step, then of each backup. The
/// replicas divide `groups` evenly; backup i has as many as replica i (modulo `replicas`).
std::vector<std::int64_t> dealt_groups(std::int64_t groups, std::int64_t replicas,
                                       std::int64_t backups = 0);

/// `nothing`, `synchronous`, `compressed`, `periodic`, `asynchronous`
std::string_view to_string(Exchange exchange);

/// `one`, `places`, `workers`, `workers and servers`
std::string_view to_string(Processes processes);

/// The exchange of a composition: Synchronous if all strategies are, otherwise the first that is
/// not.
Exchange exchange_of(std::span<const Strategy* const> strategies);

}  // namespace regatta
