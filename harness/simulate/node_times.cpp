// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/node_times.h"

#include <fmt/format.h>

#include <set>

#include "kernels/base/error.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta::simulate {

std::vector<std::vector<double>> node_times_ns(std::span<const Step> parts, const ClusterFile& file,
                                               const plan::RaceRequest& request) {
  const virtual_time::Way& inside = file.cluster.transports.in_process.on_host;
  std::set<std::string> unknown;
  std::vector<std::vector<double>> all;
  for (const Step& part : parts) {
    const Graph& graph = part.graph;
    const int threads = virtual_time::lane_threads(graph, file.cluster.threads_per_worker);
    std::vector<double>& times = all.emplace_back(graph.nodes().size());
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      const Node& node = graph.node(id);
      double& ns = times[static_cast<std::size_t>(id)];
      if (node.op == Op::Copy) {
        ns = inside.message_ns + static_cast<double>(node.outputs[0].bytes()) / inside.bytes_per_ns;
      }
      if (!virtual_time::computes(graph, node)) continue;
      if (file.cluster.devices) {
        ns = file.cluster.devices->kernel_ns(graph, id);
        continue;
      }
      const std::string key = virtual_time::kernel_key(graph, id, threads);
      const auto cost = file.calibration.kernels.find(key);
      if (cost == file.calibration.kernels.end()) {
        unknown.insert(key);
      } else {
        ns = cost->second;
      }
    }
  }
  require_costs(std::vector(unknown.begin(), unknown.end()), request);
  return all;
}

void require_costs(std::span<const std::string> unknown_kernels, const plan::RaceRequest& request) {
  if (unknown_kernels.empty()) return;
  throw RunError(
      ErrorKind::Usage,
      fmt::format("the calibration lacks {} kernels of this cell, such as '{}'; fix: regatta "
                  "calibrate with the flags of this command that make the cell (--workload {} "
                  "--strategy {} --workers {} ...), and the threads of the cluster's file",
                  unknown_kernels.size(), unknown_kernels.front(), request.workload,
                  request.strategy, request.workers));
}

}  // namespace regatta::simulate
