// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/picked_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/simulate/calibration.h"
#include "harness/simulate/virtual_cell.h"
#include "harness/system/machine.h"
#include "harness/system/slurm_job.h"
#include "kernels/graph/collective_messages.h"
#include "kernels/graph/error.h"
#include "kernels/graph/open_sums.h"
#include "kernels/virtual/collective_time.h"
#include "strategies/shared_options.h"

namespace regatta {
namespace {

struct SumCosts {
  /// The time of a sum by the shape's algorithm; empty if unknown. Units: ns.
  std::function<std::optional<double>(const CollectiveShape&)> ns_of;
  std::string digest;  ///< of the calibration
};

SumCosts costs_of_cluster(const RaceRequest& request, const Placement& placement) {
  const auto file = std::make_shared<const ClusterFile>(
      read_cluster(request.cluster, machine_facts().cpu, software_facts().git_commit));
  return {.ns_of = [file, host_of = hosts_of_processes(*file, placement)](
                       const CollectiveShape& shape) -> std::optional<double> {
            return virtual_time::collective_ns(shape, file->cluster, host_of);
          },
          .digest = file->calibration_digest};
}

std::int64_t processes_in(const CollectiveShape& shape) {
  const std::set<std::int64_t> all(shape.part_of.begin(), shape.part_of.end());
  return std::max<std::int64_t>(1, std::ssize(all));
}

bool has_sides_of(const MeasuredSum& sum, const CollectiveShape& shape) {
  if (shape.algorithm != kTorus) return true;
  CollectiveShape measured = shape;
  measured.columns = sum.columns;
  return torus_shape(measured).columns == torus_shape(shape).columns;
}

SumCosts costs_of_file(const RaceRequest& request) {
  const auto file = std::make_shared<const CalibrationFile>(read_calibration(request.costs));
  require_fitting(file->calibration, request.costs, machine_facts().cpu,
                  software_facts().git_commit);
  const bool has_hosts = !request.hosts.empty() || !other_host_of_slurm_job().empty();
  const auto ns_of = [file, has_hosts](const CollectiveShape& shape) -> std::optional<double> {
    const std::int64_t processes = processes_in(shape);
    for (const MeasuredSum& sum : file->calibration.sums) {
      if (sum.algorithm == shape.algorithm && sum.members == shape.members &&
          sum.processes == processes && sum.between_hosts == (has_hosts && processes > 1) &&
          has_sides_of(sum, shape)) {
        return sum.way.ns_of(static_cast<double>(shape.elements * shape.element_bytes));
      }
    }
    return std::nullopt;
  };
  return {.ns_of = ns_of, .digest = file->digest};
}

/// The process of each member; empty if one process has them all.
std::vector<std::int64_t> processes_of_members(const OpenSum& sum, const Binding& binding) {
  if (binding.processes == 1) return {};
  std::vector<std::int64_t> processes;
  for (const Place& place : sum.places) processes.push_back(binding.process_of(place));
  const bool together = std::all_of(processes.begin(), processes.end(),
                                    [&](std::int64_t each) { return each == processes.front(); });
  return together ? std::vector<std::int64_t>() : processes;
}

std::string fastest(CollectiveShape shape, const std::vector<std::string_view>& algorithms,
                    const SumCosts& costs) {
  if (shape.members == 1) return std::string(kRing);  // nothing is sent
  std::string_view best;
  std::optional<double> least;
  for (const std::string_view algorithm : algorithms) {
    shape.algorithm = algorithm;
    const std::optional<double> ns = costs.ns_of(shape);
    if (!ns || (least && *ns >= *least)) continue;
    least = ns;
    best = algorithm;
  }
  if (least) return std::string(best);
  throw RunError(ErrorKind::Usage,
                 fmt::format("--costs: there are no times of sums of {} workers in {} processes; "
                             "fix: regatta calibrate with the flags of this cell",
                             shape.members, processes_in(shape)));
}

}  // namespace

void pick_sums(const RaceRequest& request, Placement& placement) {
  if (placement.options.choice(kAlgorithm) != kAuto || !placement.picked.empty()) return;
  const std::vector<OpenSum> sums = open_sums(placement.placed->step.graph);
  const SumCosts costs =
      request.cluster.empty() ? costs_of_file(request) : costs_of_cluster(request, placement);
  const std::vector<std::string_view> ours(all_reduce_algorithms().begin(),
                                           all_reduce_algorithms().end());
  std::vector<std::string_view> and_mpi = ours;
  and_mpi.push_back(kMpi);
  const bool adds_in_order = virtual_mode_of(request) == VirtualMode::Train;
  const Binding binding = binding_of(placement);
  std::vector<std::string> picked;
  for (const OpenSum& sum : sums) {
    const std::vector<std::int64_t> part_of = processes_of_members(sum, binding);
    CollectiveShape shape = sum.shape;
    shape.part_of = part_of;
    const bool has_mpi = !part_of.empty() && !adds_in_order;
    picked.push_back(fastest(shape, has_mpi ? and_mpi : ours, costs));
  }
  if (picked.empty()) return;
  RaceRequest named = request;
  named.picked = fmt::format("{}", fmt::join(picked, ","));
  placement = place(named, placement.recipe.train_examples);
  placement.picked_by = costs.digest;
}

std::string picked_text(const GraphRecord& graph) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_algorithm;  // sums, bytes
  for (const SumRecord& sum : graph.all_reduces) {
    auto& [count, bytes] = by_algorithm[sum.algorithm];
    ++count;
    bytes += sum.bytes;
  }
  std::string text;
  for (const auto& [algorithm, sums] : by_algorithm) {
    text += fmt::format("{}{} for {} sum{} of {} bytes", text.empty() ? "" : ", ", algorithm,
                        sums.first, sums.first == 1 ? "" : "s", sums.second);
    if (sums.first > 1) text += " in all";
  }
  return "--all-reduce auto: " + text;
}

}  // namespace regatta
