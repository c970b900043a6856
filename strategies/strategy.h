// SPDX-License-Identifier: Apache-2.0
//
// A strategy is a pure function from a step's graph to a graph placed on a cluster. This is the
// table of all of them, and their composition: `a+b` applies a, then b to its result.
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

/// What `--workers` counts under a strategy.
enum class WorkersAre : std::uint8_t {
  One,
  Replicas,
  Stages,
  Shards,    ///< of layers; they stand where stages would
  OfOthers,  ///< those of the strategies before it, whose exchange it rewrites
};

/// Whether several workers have one replica of the model.
constexpr bool share_a_replica(WorkersAre workers) {
  return workers == WorkersAre::Stages || workers == WorkersAre::Shards;
}

/// How replicas are synchronised.
enum class Exchange : std::uint8_t {
  Nothing,      ///< an upper bound on speed, without a claim about time to accuracy
  Synchronous,  ///< follows `single` at the same global batch within rounding
  Compressed,   ///< as Synchronous, by approximations of the gradients
  Periodic,     ///< each trains alone and takes means of parameters, now and then or with a few
  Asynchronous,
};

/// The processes that a strategy can run in.
enum class Processes : std::uint8_t {
  One,         ///< there is one worker, or memory is shared
  OfPlaces,    ///< several, whose replicas, stages and host send each other values
  OfWorkers,   ///< several, whose replicas agree by collectives, if at all
  WithServers  ///< several, and servers that hold the parameters
};

/// A name that a strategy has elsewhere: lower case, without `strategy`.
struct OtherName {
  enum class Is : std::uint8_t { Equal, Near };
  std::string_view name = {};
  std::string_view flags = {};  ///< of the strategy here, such as `--shard parameters`
  Is is = Is::Equal;
};

struct Strategy {
  std::string_view name;
  std::string_view term;  ///< in the literature
  std::string_view summary;
  std::string_view colour;  ///< of its lines in figures, `#RRGGBB`
  WorkersAre workers;
  Exchange exchange;
  Processes processes;
  std::span<const Option* const> options;
  Rewrite rewrite;
  std::array<OtherName, 6> elsewhere = {};
};

std::span<const Strategy* const> all_strategies();

/// The strategy's name or, of one that rewrites what another has made, that of a composition.
std::string runnable_name(const Strategy& strategy);

/// Every option of every strategy, each once, in the order of the table.
std::span<const Option* const> all_options();

/// The options that `strategies` declare, each once.
std::vector<const Option*> options_of(std::span<const Strategy* const> strategies);

/// The strategies that declare `option`, as `parameter_server and parameter_server_async`.
std::string names_of_declarers(const Option& option);

/// Checks the options given for a strategy or composition. Throws: RunError(Usage) for an option
/// that it does not declare, naming the strategies that do, and for an invalid value.
void check_options(const std::string& strategy, const OptionValues& given);

/// One strategy or a composition, by name.
/// Throws: RunError(Usage) that names what has this name elsewhere, or the nearest valid name.
std::vector<const Strategy*> find_strategies(const std::string& name);

/// Applies the strategies in order, then bucket(); verifies after each.
/// Throws: RunError(Usage) when a strategy cannot be applied, naming the rule.
Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options);

/// The number of normalisation groups of each replica in a step, then of each backup. The replicas
/// divide `groups` evenly; backup i has as many as replica i (modulo `replicas`).
std::vector<std::int64_t> dealt_groups(std::int64_t groups, std::int64_t replicas,
                                       std::int64_t backups = 0);

/// `nothing`, `synchronous`, `compressed`, `periodic`, `asynchronous`
std::string_view to_string(Exchange exchange);

/// `one`, `places`, `workers`, `workers and servers`
std::string_view to_string(Processes processes);

/// The exchange of a composition: Synchronous if that of all strategies is, otherwise the first
/// other one.
Exchange exchange_of(std::span<const Strategy* const> strategies);

}  // namespace regatta
