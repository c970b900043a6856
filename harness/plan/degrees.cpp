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
  using enum strategies::WorkersAre;
  return {.replicas = any_has(strategies, Replicas),
          .stages = any_has(strategies, Stages),
          .shards = any_has(strategies, Shards)};
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

/// Returns the first degrees that fit, such as `--stages 2 --shards 4, --stages 4 --shards 2`.
std::string degrees_that_fit(std::int64_t workers, const Degrees& degrees) {
  constexpr int kMost = 6;
  constexpr std::int64_t kMostParts = 4096;  // more than any model has
  std::vector<std::string> all;
  for (std::int64_t stages = 1; stages <= (degrees.stages ? std::min(workers, kMostParts) : 1);
       ++stages) {
    if ((stages > 1) != degrees.stages || workers % stages != 0) continue;
    for (std::int64_t shards = 1; shards <= (degrees.shards ? std::min(workers, kMostParts) : 1);
         ++shards) {
      if ((shards > 1) != degrees.shards) continue;
      const std::int64_t parts = stages * shards;
      if (degrees.replicas ? workers % parts != 0 : workers != parts) continue;
      std::vector<std::string> flags;
      if (degrees.stages) flags.push_back(fmt::format("--stages {}", stages));
      if (degrees.shards) flags.push_back(fmt::format("--shards {}", shards));
      if (std::ssize(all) == kMost) return fmt::format("{}, ...", fmt::join(all, ", "));
      all.push_back(fmt::format("{}", fmt::join(flags, " ")));
    }
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// The error for degrees whose product is not the number of workers.
RunError wrong_degrees(const RaceRequest& request, const Degrees& degrees) {
  std::string parts;
  for (const auto& [has_flag, name] :
       {std::pair(degrees.replicas, "replicas"), std::pair(degrees.stages, "stages"),
        std::pair(degrees.shards, "shards")}) {
    if (has_flag) parts += (parts.empty() ? "" : " x ") + std::string(name);
  }
  std::string fit = "one of: " + degrees_that_fit(request.workers, degrees);
  if (fit.ends_with(' ')) {
    const std::int64_t workers = 1 << degrees.count();
    fit = fmt::format("--workers {} and {}", workers, fit + degrees_that_fit(workers, degrees));
  }
  return {ErrorKind::Usage, fmt::format("strategy '{}' deals {} workers to {}; fix: give {}",
                                        request.strategy, request.workers, parts, fit)};
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
