// SPDX-License-Identifier: Apache-2.0
//
// A cell on the cluster of a file: the input of a run in virtual time, whether it computes or not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/run/trainer.h"
#include "harness/simulate/cluster_file.h"
#include "kernels/virtual/program.h"
#include "kernels/virtual/simulation.h"

namespace regatta {

/// The values of `--virtual`.
enum class VirtualMode : std::uint8_t {
  Time,   ///< nothing is computed
  Train,  ///< kernels compute, in virtual order
};

/// The request's mode. Throws: RunError(Usage) for an unknown word, or `train` without --cluster.
VirtualMode virtual_mode_of(const RaceRequest& request);

/// Throws: RunError(Unsupported) for a flag that has no meaning in virtual time.
void require_virtual(const RaceRequest& request, const Placement& placement);

/// The host of each process. Throws: RunError(Usage) if hosts have no room.
std::vector<int> hosts_of_processes(const ClusterFile& file, const Placement& placement);

struct VirtualCell {
  ClusterFile file;
  virtual_time::Program program;
  virtual_time::SimulationOptions options;
  /// The name of a process's host. Threads: any.
  const std::string& host_of(std::int64_t process) const;
};

/// Reads the cluster of the request. `parts`: by process.
/// Throws: RunError(Usage, Data, Unsupported) for a cluster or a calibration that does not fit.
VirtualCell virtual_cell(const RaceRequest& request, const Placement& placement,
                         std::span<const Step> parts);

/// The number of steps after which the estimate of a step's time is stable.
std::int64_t steps_to_estimate(std::span<const Step> parts,
                               const virtual_time::ComputeTimes& compute_times);

/// Turns a simulation into a report: times, bytes and staleness, but no losses. Throws:
/// RunError(Usage) for a run that takes decades.
TrainingReport report_of(const virtual_time::Simulation& simulation,
                         const virtual_time::Program& program);

}  // namespace regatta
