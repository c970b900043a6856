// SPDX-License-Identifier: Apache-2.0
//
// The table of all strategies, and their composition. A strategy is a pure function from a step's
// graph to a graph placed on a cluster; the composition `a+b` applies a to the step and then b to
// the result.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"
#include "strategies/strategy_options.h"

namespace regatta::strategies {

using Rewrite = Step (*)(const Step& step, const StrategyOptions& options);

/// The units that `--workers` counts under a strategy.
enum class WorkersAre : std::uint8_t {
  One,
  Replicas,
  Stages,
  Shards,           ///< each worker has a shard of every divided layer
  ThoseOfPrevious,  ///< as under the strategy before it in a composition, whose exchange this
                    ///< strategy rewrites
};

/// Whether several workers together hold one replica of the model.
constexpr bool share_a_replica(WorkersAre workers) {
  return workers == WorkersAre::Stages || workers == WorkersAre::Shards;
}

/// How replicas are synchronised.
enum class Exchange : std::uint8_t {
  Nothing,  ///< replicas exchange nothing: an upper bound on speed, without a claim about time to
            ///< accuracy
  Synchronous,  ///< equals `single` at the same global batch except for rounding
  Compressed,   ///< like Synchronous, with approximated gradients
  Periodic,     ///< each replica trains alone and averages parameters in some steps, or with a few
                ///< other replicas
  Asynchronous,
};

/// Whether a strategy can run in several processes, and how those processes communicate.
enum class Processes : std::uint8_t {
  One,         ///< one process only: one worker, or workers with shared memory
  OfPlaces,    ///< one or several; the replicas, stages and host in them send values to each other
  OfWorkers,   ///< one or several; the replicas in them communicate only by collectives, if at all
  WithServers  ///< one or several, with servers that hold the parameters
};

/// The workloads that a strategy can train.
enum class Trains : std::uint8_t { All, Sequences };

/// The workers that a strategy builds for virtual time, in which one of several alike workers can
/// stand for all (Step::alike).
enum class Builds : std::uint8_t {
  All,
  EveryShard,  ///< one replica may stand for all
  OneOfAlike,  ///< one replica and one shard may
};

/// The name of a strategy in another library, in lower case and without the word `strategy`.
struct OtherName {
  enum class Is : std::uint8_t { Equal, Near };
  std::string_view name = {};
  /// Flags that make the strategy here match the other library's, such as `--shard parameters`.
  std::string_view flags = {};
  Is is = Is::Equal;
};

struct Strategy {
  std::string_view name;
  std::string_view term;  ///< the strategy's name in the literature
  std::string_view summary;
  std::string_view colour;  ///< colour of its lines in figures, `#RRGGBB`
  WorkersAre workers;
  Exchange exchange;
  Processes processes;
  std::span<const Option* const> options;
  Rewrite rewrite;
  std::array<OtherName, 6> elsewhere = {};
  Trains trains = Trains::All;
  Builds builds = Builds::All;
};

std::span<const Strategy* const> all_strategies();

/// Whether any of the strategies has workers of the kind `workers`.
bool any_has(std::span<const Strategy* const> strategies, WorkersAre workers);

/// Returns the name under which the strategy can run by itself: its own name, or `all_reduce+` and
/// its own name if it rewrites another strategy's exchange.
std::string runnable_name(const Strategy& strategy);

/// Returns the options of all strategies, each once, in the order of the table, then other options
/// of passes.
std::span<const Option* const> all_options();

/// Returns all options that `strategies` declare, without duplicates.
std::vector<const Option*> options_of(std::span<const Strategy* const> strategies);

/// Returns the options that every strategy has, because a pass (passes.h) reads them. Their
/// defaults are for the strategies that declare them.
std::span<const Option* const> options_of_passes();

/// Whether this value of an option that a pass reads leaves the step as it is without the option.
bool changes_nothing(const Option& option, const OptionValue& value);

/// Whether the option's default is for a strategy or composition of this name.
bool has_default(std::string_view strategy, const Option& option);

/// Returns the names of the strategies that have `option`, such as `parameter_server and
/// parameter_server_async`, or `every strategy`.
std::string names_of_declarers(const Option& option);

/// Checks the options given for a strategy or composition. Throws: RunError(Usage) for an invalid
/// value, and for an option that the strategy does not have; the message lists the strategies that
/// do, and those that this one declares.
void check_options(const std::string& strategy, const OptionValues& given);

/// Returns the strategy with this name or, for a composition, its strategies in order. Throws:
/// RunError(Usage) if there is no such strategy; the message suggests the strategy that has this
/// name in another library, or the nearest valid name.
std::vector<const Strategy*> find_strategies(const std::string& name);

/// Returns the number of normalisation groups of each replica in a step, followed by that of each
/// backup. `groups` is divided as evenly as possible among the replicas; backup i has as many as
/// replica i modulo `replicas`.
std::vector<std::int64_t> dealt_groups(std::int64_t groups, std::int64_t replicas,
                                       std::int64_t backups = 0);

/// Returns `nothing`, `synchronous`, `compressed`, `periodic` or `asynchronous`.
std::string_view to_string(Exchange exchange);

/// Returns `one`, `places`, `workers` or `workers and servers`.
std::string_view to_string(Processes processes);

/// Returns the numbers of replicas and shards for which one can stand under these strategies.
/// Replicas must have equal shares of the batch. Uneven shards count as alike, because the first
/// has the most.
Alike alike_workers(std::span<const Strategy* const> strategies, const StrategyOptions& options,
                    const Step& workload);

/// Returns the exchange of a composition: that of its first strategy that is not Synchronous;
/// Synchronous if all are.
Exchange exchange_of(std::span<const Strategy* const> strategies);

}  // namespace regatta::strategies
