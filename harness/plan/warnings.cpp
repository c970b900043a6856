// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "harness/plan/device_name.h"
#include "harness/system/number.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta::plan {
namespace {

/// True if a strategy of the request is synchronous and its workers' processes exchange without
/// servers.
bool sums_over_processes(const RaceRequest& request) {
  const std::vector<const strategies::Strategy*> strategies =
      strategies::find_strategies(request.strategy);
  return std::any_of(strategies.begin(), strategies.end(), [](const strategies::Strategy* each) {
    return each->processes == strategies::Processes::OfWorkers &&
           each->exchange == strategies::Exchange::Synchronous;
  });
}

/// The warning about idle GPUs; empty if none is idle.
std::string warning_of_gpus(const RaceRequest& request, const system::MachineFacts& machine) {
  const bool one_process = request.processes.value_or(1) == 1;
  if (!is_gpu(request.device) || !one_process || request.workers < 2) return "";
  if (machine.gpus.size() < 2 || !sums_over_processes(request)) return "";
  return fmt::format(
      "all workers of {} in one process share one of {} GPUs; --processes {} gives each its own",
      request.strategy, machine.gpus.size(), request.workers);
}

std::string warning_of_bf16(const RaceRequest& request, const system::MachineFacts& machine) {
  const auto has = [&](const char* extension) {
    return std::find(machine.isa.begin(), machine.isa.end(), extension) != machine.isa.end();
  };
  const bool slow_bf16 = request.dtype == "bf16" && !is_gpu(request.device) && has("avx512f");
  if (!slow_bf16 || has("amx_bf16")) return "";
  return "this processor has AVX-512 but no AMX, so bf16 may be slower than --dtype f32 here";
}

/// The memory of a bucket is reused by the next bucket but one, so with fewer buckets none is
/// freed.
constexpr std::int64_t kFewestBuckets = 3;

/// The warning about --shard with too few buckets for memory to be freed within a step.
std::string warning_of_shares(const RaceRequest& request, const Graph& placed) {
  const auto asked = request.options.find(strategies::kShard.name);
  if (asked == request.options.end() || asked->second == strategies::kShard.default_value())
    return "";
  std::map<Place, std::int64_t> buckets_at;
  for (const Node& node : placed.nodes()) {
    if (node.op == Op::ReduceScatter) ++buckets_at[node.place];
  }
  const std::int64_t buckets = buckets_at.empty() ? 0 : buckets_at.begin()->second;
  if (buckets == 0 || buckets >= kFewestBuckets) return "";
  return fmt::format(
      "{} {} plans as much memory as {}, as the parameters make {} only; a smaller {} makes more",
      strategies::kShard.flag(), to_text(asked->second), strategies::kShardWords[0],
      system::plural(buckets, "bucket"), strategies::kBucketBytes.flag());
}

}  // namespace

std::string warning_of(const RaceRequest& request, const system::MachineFacts& machine,
                       const Graph& placed) {
  for (std::string warning : {warning_of_gpus(request, machine), warning_of_bf16(request, machine),
                              warning_of_shares(request, placed)}) {
    if (!warning.empty()) return warning;
  }
  return "";
}

}  // namespace regatta::plan
