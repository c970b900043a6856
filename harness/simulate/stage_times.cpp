// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/stage_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "strategies/shared_options.h"
#include "strategies/stages.h"

namespace regatta {
namespace {

/// By part of the model.
struct ModelTimes {
  std::vector<double> ns;
  std::vector<int> stage;
};

ModelTimes model_times(const ModelParts& model, std::span<const Step> parts,
                       const virtual_time::KernelCosts& costs, int threads_per_worker) {
  const auto count = static_cast<std::size_t>(model.count());
  ModelTimes times{.ns = std::vector<double>(count), .stage = std::vector<int>(count)};
  for (const Step& part : parts) {
    const Graph& graph = part.graph;
    const int threads = virtual_time::lane_threads(graph, threads_per_worker);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      const Node& node = graph.node(id);
      const std::optional<std::int64_t> found = model.find(node);
      if (!found || node.place.role != Role::Worker || node.place.replica != 0) continue;
      const auto p = static_cast<std::size_t>(*found);
      times.stage[p] = node.place.stage;
      if (!virtual_time::computes(graph, node)) continue;
      times.ns[p] += costs.at(virtual_time::kernel_key(graph, id, threads));
    }
  }
  return times;
}

/// `stage_of`: of each part, or its chunk; parts of one that follow each other are together.
StageTimes divided(const std::vector<double>& ns, const std::vector<int>& stage_of) {
  StageTimes times;
  for (std::size_t p = 0; p < ns.size(); ++p) {
    if (p == 0 || stage_of[p] != stage_of[p - 1]) {
      times.parts.push_back(0);
      times.ns.push_back(0);
    }
    ++times.parts.back();
    times.ns.back() += ns[p];
  }
  return times;
}

}  // namespace

std::string StageTimes::text() const {
  std::vector<std::string> ms;
  for (const double each : ns) ms.push_back(fmt::format("{:.3g}", each / 1e6));
  return fmt::format("{} {}: {} ms", kStageParts.flag(), fmt::join(parts, ","),
                     fmt::join(ms, ", "));
}

std::optional<StageBalance> stage_balance(const Graph& model, std::span<const Step> parts,
                                          const virtual_time::KernelCosts& costs,
                                          int threads_per_worker) {
  const ModelTimes times = model_times(ModelParts(model), parts, costs, threads_per_worker);
  const StageTimes now = divided(times.ns, times.stage);
  if (now.parts.size() < 2) return std::nullopt;
  std::vector<std::int64_t> rounded;
  for (const double ns : times.ns) rounded.push_back(std::llround(ns));
  const std::int64_t stages = 1 + *std::max_element(times.stage.begin(), times.stage.end());
  return StageBalance{
      .now = now,
      .even = divided(times.ns, deal_in_turn(rounded, stages, std::ssize(now.parts) / stages))};
}

}  // namespace regatta
