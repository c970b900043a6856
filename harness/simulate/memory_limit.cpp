// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/simulate/alike_workers.h"
#include "kernels/base/error.h"
#include "kernels/runtime/plan.h"
#include "strategies/savings.h"

namespace regatta::simulate {
namespace {

constexpr double kGib = 1 << 30;
constexpr std::size_t kMostShown = 3;
/// Bytes that unfused attention keeps of a score for its backward pass: the softmax and the
/// dropout, 2 each, and its mask. Source: arXiv:2205.05198, section 4.1.
constexpr std::int64_t kOfScore = 5;

/// The scores that unfused attention keeps beside its log-sums.
std::map<Value, std::int64_t> scores(const Graph& graph) {
  std::map<Value, std::int64_t> bytes;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    if (graph.node(id).op != Op::Attention) continue;
    const std::int64_t tokens = graph.type(graph.node(id).inputs[0]).dim(1);
    bytes[{id, 1}] = kOfScore * graph.type({id, 1}).elements() * tokens;
  }
  return bytes;
}

/// The changes that reduce the memory to at most `room`, as text.
std::vector<std::string> that_fit(const ClusterFile& file, const plan::RaceRequest& request,
                                  std::int64_t room) {
  std::vector<std::string> found;
  for (const strategies::Saving& each : strategies::savings(request.strategy, request.options)) {
    if (found.size() == kMostShown) break;
    try {
      plan::RaceRequest changed = request;
      changed.strategy = each.strategy;
      changed.options = each.options;
      const plan::Placement placement = place_alike(changed, file);
      const std::int64_t worst =
          worst_memory(memory_of_places(placement.placed->parts, file.cluster));
      if (worst > room) continue;
      found.push_back(
          fmt::format("{} ({:.4g} GiB)", each.flags, static_cast<double>(worst) / kGib));
    } catch (const RunError&) {  // the change does not fit this cell
      continue;
    }
  }
  return found;
}

}  // namespace

std::map<Place, MemoryUse> memory_of_places(std::span<const Step> parts,
                                            const virtual_time::Cluster& cluster) {
  std::map<Place, MemoryUse> all;
  const virtual_time::Devices* devices = cluster.devices ? &*cluster.devices : nullptr;
  const bool is_unfused =
      devices != nullptr && devices->attention == virtual_time::AttentionKernel::Unfused;
  for (const Step& part : parts) {
    const Graph& graph = part.graph;
    if (graph.nodes().empty()) continue;
    const Plan plan(part, virtual_time::plan_options(devices));
    const MemoryPlan memory =
        plan_memory(graph, plan, is_unfused ? scores(graph) : std::map<Value, std::int64_t>());
    for (const auto& [place, use] : planned_memory(graph, plan, memory)) {
      all[place].add(use);
    }
  }
  return all;
}

std::int64_t worst_memory(const std::map<Place, MemoryUse>& planned) {
  std::int64_t worst = 0;
  for (const auto& [place, use] : planned) worst = std::max(worst, use.sum());
  return worst;
}

std::int64_t room_of(const virtual_time::Devices& devices) {
  const virtual_time::DeviceProfile& profile = devices.profile;
  return static_cast<std::int64_t>(profile.memory_bytes - profile.reserved_bytes);
}

void require_memory(const ClusterFile& file, const plan::RaceRequest& request,
                    const std::map<Place, MemoryUse>& planned) {
  if (!file.cluster.devices) return;
  const virtual_time::Devices& devices = *file.cluster.devices;
  const std::int64_t room = room_of(devices);
  const std::int64_t worst = worst_memory(planned);
  if (worst <= room) return;
  const std::vector<std::string> fit = that_fit(file, request, room);
  throw RunError(
      ErrorKind::Device,
      fmt::format("a worker needs {:.4g} GiB, {:.4g} more than {} has ({:.4g} without {:.4g} for "
                  "libraries); fix: {}",
                  static_cast<double>(worst) / kGib, static_cast<double>(worst - room) / kGib,
                  devices.profile.name, static_cast<double>(room) / kGib,
                  devices.profile.reserved_bytes / kGib,
                  fit.empty() ? "more --stages, --shards or --workers"
                              : fmt::format("{}", fmt::join(fit, ", or "))));
}

}  // namespace regatta::simulate
