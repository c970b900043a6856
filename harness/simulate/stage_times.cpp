// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/stage_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "strategies/shared_options.h"
#include "strategies/stages.h"

namespace regatta {
namespace {

/// The time and the stage of each part of the model.
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

using PartCounts = std::vector<std::int64_t>;

/// Counts the parts of each stage or chunk. `stage_of`: the stage or chunk of each part; adjacent
/// parts with the same one are counted together.
PartCounts division_of(const std::vector<int>& stage_of) {
  PartCounts parts;
  for (std::size_t p = 0; p < stage_of.size(); ++p) {
    if (p == 0 || stage_of[p] != stage_of[p - 1]) parts.push_back(0);
    ++parts.back();
  }
  return parts;
}

StageTimes divided(const std::vector<double>& ns, const PartCounts& parts, double step_ns) {
  StageTimes times{.parts = parts, .ns = {}, .step_ns = step_ns};
  auto next = ns.begin();
  for (const std::int64_t count : parts) {
    times.ns.push_back(std::accumulate(next, next + count, 0.0));
    next += count;
  }
  return times;
}

/// Computes the time of each division only once.
class Tried {
 public:
  explicit Tried(const StepTime& step_ns) : step_ns_(step_ns) {}

  double operator()(const PartCounts& parts) {
    const auto [entry, is_new] = known_.try_emplace(parts, 0);
    if (is_new) entry->second = step_ns_(parts);
    return entry->second;
  }

 private:
  const StepTime& step_ns_;
  std::map<PartCounts, double> known_;
};

/// Moves single parts between neighbouring chunks for as long as a step gets shorter.
PartCounts descended(PartCounts parts, Tried& step_ns) {
  for (bool is_faster = true; is_faster;) {
    is_faster = false;
    const auto move = [&](std::size_t from, std::size_t to) {
      PartCounts other = parts;
      ++other[to];
      if (--other[from] == 0 || step_ns(other) >= step_ns(parts)) return;
      parts = std::move(other);
      is_faster = true;
    };
    for (std::size_t c = 1; c < parts.size(); ++c) {
      move(c - 1, c);
      move(c, c - 1);
    }
  }
  return parts;
}

}  // namespace

std::string StageTimes::text() const {
  std::vector<std::string> ms;
  for (const double each : ns) ms.push_back(fmt::format("{:.3g}", each / 1e6));
  return fmt::format("{} {}: {} ms of a step of {:.3g} ms", kStageParts.flag(),
                     fmt::join(parts, ","), fmt::join(ms, ", "), step_ns / 1e6);
}

std::optional<StageDivisions> stage_divisions(const Graph& model, std::span<const Step> parts,
                                              const virtual_time::KernelCosts& costs,
                                              int threads_per_worker, const StepTime& step_ns) {
  const ModelTimes times = model_times(ModelParts(model), parts, costs, threads_per_worker);
  const PartCounts now = division_of(times.stage);
  if (now.size() < 2) return std::nullopt;
  std::vector<std::int64_t> rounded;
  for (const double ns : times.ns) rounded.push_back(std::llround(ns));
  const std::int64_t stages = 1 + *std::max_element(times.stage.begin(), times.stage.end());
  const PartCounts even = division_of(deal_in_turn(rounded, stages, std::ssize(now) / stages));
  Tried tried(step_ns);
  const PartCounts from_now = descended(now, tried);
  const PartCounts from_even = descended(even, tried);
  const PartCounts& fastest = tried(from_even) < tried(from_now) ? from_even : from_now;
  return StageDivisions{.now = divided(times.ns, now, tried(now)),
                        .fastest = divided(times.ns, fastest, tried(fastest))};
}

}  // namespace regatta
