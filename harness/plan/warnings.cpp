// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/warnings.h"
#include "harness/plan/device_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "strategies/strategy.h"

namespace regatta {
namespace {

/// Whether replicas of several processes keep in step without servers.
bool sums_over_processes(const RaceRequest& request) {
  const std::vector<const Strategy*> strategies = find_strategies(request.strategy);
  return std::any_of(strategies.begin(), strategies.end(), [](const Strategy* each) {
    return each->processes == Processes::OfWorkers && each->exchange == Exchange::Synchronous;
  });
}

/// Of GPUs that are left idle.
std::string warning_of_gpus(const RaceRequest& request, const MachineFacts& machine) {
  const bool one_process = request.processes.value_or(1) == 1;
  if (!is_gpu(request.device) || !one_process || request.workers < 2) return "";
  if (machine.gpus.size() < 2 || !sums_over_processes(request)) return "";
  return fmt::format(
      "all workers of {} in one process share one of {} GPUs; --processes {} gives each its own",
      request.strategy, machine.gpus.size(), request.workers);
}

std::string warning_of_bf16(const RaceRequest& request, const MachineFacts& machine) {
  const auto has = [&](const char* extension) {
    return std::find(machine.isa.begin(), machine.isa.end(), extension) != machine.isa.end();
  };
  const bool slow_bf16 = request.dtype == "bf16" && !is_gpu(request.device) && has("avx512f");
  if (!slow_bf16 || has("amx_bf16")) return "";
  return "this processor has AVX-512 but no AMX, so bf16 may be slower than --dtype f32 here";
}

}  // namespace

std::string warning_of(const RaceRequest& request, const MachineFacts& machine) {
  const std::string of_gpus = warning_of_gpus(request, machine);
  return of_gpus.empty() ? warning_of_bf16(request, machine) : of_gpus;  // one is of CPUs only
}

}  // namespace regatta
