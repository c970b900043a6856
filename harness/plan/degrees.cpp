// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/degrees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "strategies/shared_options.h"

namespace regatta::plan {
namespace {

/// The kinds of degrees whose product is the number of workers.
struct Degrees {
  bool replicas = false;
  bool stages = false;
  bool shards = false;
  int count() const { return int{replicas} + int{stages} + int{shards}; }
};

Degrees degrees_of(const std::vector<const strategies::Strategy*>& strategies) {
  const auto have = [&](strategies::WorkersAre workers) {
    return std::any_of(strategies.begin(), strategies.end(),
                       [=](const strategies::Strategy* each) { return each->workers == workers; });
  };
  return {.replicas = have(strategies::WorkersAre::Replicas),
          .stages = have(strategies::WorkersAre::Stages),
          .shards = have(strategies::WorkersAre::Shards)};
}

void check_workers(const RaceRequest& request, const Placement& placement, const Degrees& degrees) {
  const auto& strategies = placement.strategies;
  if ((degrees.stages || degrees.shards) &&
      std::any_of(strategies.begin(), strategies.end(), [](const strategies::Strategy* each) {
        return each->processes == strategies::Processes::WithServers;
      })) {
    throw RunError(ErrorKind::Usage, "strategy '" + request.strategy +
                                         "' cannot be: the parameters of stages and shards have no "
                                         "servers; fix: leave one of the "
                                         "strategies out");
  }
  if (degrees.count() == 0 && request.workers != 1) {
    if (strategies.back()->workers == strategies::WorkersAre::ThoseOfPrevious) {
      throw RunError(ErrorKind::Usage,
                     "strategy '" + request.strategy +
                         "' compresses the exchange of another strategy; fix: --strategy " +
                         strategies::runnable_name(*strategies.back()));
    }
    throw RunError(
        ErrorKind::Usage,
        "strategy 'single' runs on one worker; fix: leave --workers out or choose a strategy "
        "with several (regatta list strategies)");
  }
  const bool has_parts = degrees.count() > 1;
  const std::string needs = "; strategy '" + request.strategy + "' needs " +
                            (has_parts ? "--workers and --shards" : "--workers only");
  if (request.stages && !(has_parts && degrees.stages)) {
    throw RunError(
        ErrorKind::Usage,
        "--stages splits the workers of a composition such as all_reduce+model_parallel" + needs);
  }
  if (placement.options.find(strategies::kShardCount) && !has_parts) {
    throw RunError(
        ErrorKind::Usage,
        "--shards splits the workers of a composition such as all_reduce+tensor_parallel" + needs);
  }
}

/// The error for degrees whose product is not the number of workers.
RunError wrong_degrees(const RaceRequest& request, const Degrees& degrees) {
  std::string parts, flags, example;
  for (const auto& [has_flag, name] :
       {std::pair(degrees.stages, "stages"), std::pair(degrees.shards, "shards")}) {
    if (!has_flag) continue;
    parts += (parts.empty() ? "--" : " of --") + std::string(name) + ' ' + name;
    flags += (flags.empty() ? "--" : " and --") + std::string(name);
    example += " --" + std::string(name) + " 2";
  }
  const bool one = !(degrees.stages && degrees.shards);
  return {ErrorKind::Usage,
          fmt::format("strategy '{}' deals {} workers to {}{} each; fix: give {} {}, such as "
                      "--workers {}{}",
                      request.strategy, request.workers, degrees.replicas ? "replicas of " : "",
                      parts, flags,
                      one                ? "a divisor of the workers"
                      : degrees.replicas ? "whose product divides the workers"
                                         : "whose product is the workers",
                      1 << degrees.count(), example)};
}

}  // namespace

void deal_workers(const RaceRequest& request, Placement& placement) {
  strategies::StrategyOptions& options = placement.options;
  const Degrees degrees = degrees_of(placement.strategies);
  check_workers(request, placement, degrees);
  if (degrees.shards) {
    options.shards = degrees.count() == 1
                         ? request.workers
                         : options.count_if_any(strategies::kShardCount).value_or(0);
  }
  const std::int64_t groups = options.shards < 1 ? 0 : request.workers / options.shards;
  if (degrees.stages) options.stages = request.stages.value_or(degrees.replicas ? 0 : groups);
  if (degrees.replicas && options.stages > 0) options.replicas = groups / options.stages;
  const bool fits = options.stages > 0 && groups > 0 && request.workers % options.shards == 0 &&
                    groups % options.stages == 0 && groups / options.stages == options.replicas;
  if (degrees.count() > 0 && !fits) throw wrong_degrees(request, degrees);
}

}  // namespace regatta::plan
