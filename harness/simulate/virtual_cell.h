// SPDX-License-Identifier: Apache-2.0
//
// A cell on the cluster that a file describes: the input of a run in virtual time, whether or not
// the run computes values.
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

namespace regatta::simulate {

/// The values of `--virtual`.
enum class VirtualMode : std::uint8_t {
  Time,   ///< only simulates the times; computes no values
  Train,  ///< also computes the values, in the simulated order
};

/// Returns the mode that the request selects. Throws: RunError(Usage) for an unknown value of
/// --virtual, or for `train` without --cluster.
VirtualMode virtual_mode_of(const plan::RaceRequest& request);

/// Checks that the request can run in virtual time. Throws: RunError(Unsupported) for a flag that
/// has no meaning there.
void require_virtual(const plan::RaceRequest& request, const plan::Placement& placement);

/// Returns the index of each process's host. Throws: RunError(Usage) if the hosts have no room for
/// all processes.
std::vector<int> hosts_of_processes(const ClusterFile& file, const plan::Placement& placement);

struct VirtualCell {
  ClusterFile file;
  virtual_time::Program program;
  virtual_time::SimulationOptions options;
  /// Returns the name of a process's host. Threads: any.
  const std::string& host_of(std::int64_t process) const;
};

/// Reads the cluster of the request and prepares the simulation. `parts[p]` is process p's step.
/// Throws: RunError(Usage, Data, Unsupported) if the cluster or the calibration does not fit the
/// run.
VirtualCell virtual_cell(const plan::RaceRequest& request, const plan::Placement& placement,
                         std::span<const Step> parts);

/// Prepares the simulation on a cluster that has been read. The program lists kernels without a
/// cost. Throws: RunError(Usage, Unsupported).
VirtualCell virtual_cell(ClusterFile file, const plan::RaceRequest& request,
                         const plan::Placement& placement, std::span<const Step> parts);

/// Returns the number of steps to simulate for a stable estimate of the step time.
std::int64_t steps_to_estimate(std::span<const Step> parts,
                               const virtual_time::ComputeTimes& compute_times);

/// Returns the report of a simulation: times, bytes and staleness, but no losses. Throws:
/// RunError(Usage) if the run takes more than thirty years of virtual time.
run::TrainingReport report_of(const virtual_time::Simulation& simulation,
                              const virtual_time::Program& program);

}  // namespace regatta::simulate
