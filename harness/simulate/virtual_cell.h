// SPDX-License-Identifier: Apache-2.0
//
// A cell on the cluster of a file: what a run in virtual time needs, whether it computes or not.
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

/// What `--virtual` asks for.
enum class VirtualMode : std::uint8_t {
  Time,   ///< nothing is computed
  Train,  ///< kernels compute, in virtual order
};

/// Throws: RunError(Usage) for another word, or without --cluster.
VirtualMode virtual_mode_of(const RaceRequest& request);

/// Throws: RunError(Unsupported) for a flag that has no meaning in virtual time.
void require_virtual(const RaceRequest& request, const Placement& placement);

/// The host of each process. Throws: RunError(Usage) where they have no room.
std::vector<int> hosts_of_processes(const ClusterFile& file, const Placement& placement);

struct VirtualCell {
  ClusterFile file;
  virtual_time::Program program;
  virtual_time::SimulationOptions options;
  /// Of a process of the run. Threads: any.
  const std::string& host_of(std::int64_t process) const;
};

/// `parts`: by process.
/// Throws: RunError(Usage, Data, Unsupported): a cluster or a calibration that does not fit.
VirtualCell virtual_cell(const RaceRequest& request, const Placement& placement,
                         std::span<const Step> parts);

/// Until the estimate of a step's time stands.
std::int64_t steps_to_estimate(std::span<const Step> parts,
                               const virtual_time::ComputeTimes& compute_times);

/// Times, bytes and staleness; no losses. Throws: RunError(Usage) for a run that takes decades.
TrainingReport report_of(const virtual_time::Simulation& simulation,
                         const virtual_time::Program& program);

}  // namespace regatta
