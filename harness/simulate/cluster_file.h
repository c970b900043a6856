// SPDX-License-Identifier: Apache-2.0
//
// The file of `--cluster`: a cluster that need not exist, in TOML.
//   calibration = "calibration.json"   # beside this file: costs of kernels and messages
//   threads_per_worker = 1
//   server_cores = 1                   # of a parameter server
//   machine_cores = 2                  # hosts share one machine with these cores: one core each,
//                                      # assigned round-robin
//   latency_us = 25                    # from one host to another
//   core_gbit_per_s = 40               # of the link shared by all traffic between hosts
//   queue_kb = 80                      # data of a flow that waits before a saturated link; a new
//                                      # flow queues behind it; 0 if left out (link_queue in
//                                      # results/epyc-2-cores/simulation_check measures it)
//   seed = 1                           # for drawing compute times
//   [compute_times]                    # default: the step times in the calibration
//   kind = "gamma"                     # constant, gamma, log_normal, shifted_exponential, samples
//   spread = 0.2
//   [[host]]
//   count = 8
//   cores = 2
//   gbit_per_s = 10                    # each way; or out_gbit_per_s and in_gbit_per_s
//   processes = 1                      # default: as many as the host's cores suffice for
// With a table [devices] (device_file.h) hosts have accelerators, and costs follow from profiles:
// there is no calibration, and [[host]] has only the key `count`. A link without a bandwidth has no
// limit. A number outside its valid range is an error that names the range. Without machine_cores
// each host has cores of its own. Workers and servers share cores evenly if they need more than
// there are: if several hosts have one core of a machine (sending and receiving messages then takes
// a share, too), or if `processes` exceeds the number for which a host has cores.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/record/record.h"
#include "harness/simulate/calibration.h"
#include "harness/system/machine.h"
#include "kernels/virtual/cluster.h"

namespace regatta::simulate {

struct ClusterFile {
  virtual_time::Cluster cluster;  ///< includes the calibration's transports
  Calibration calibration;
  std::string digest;  ///< digest of the file, sixteen hexadecimal digits
  std::string calibration_digest;
  /// The order in which workers fill the cluster's devices (DevicesOfFile::order).
  std::array<std::string, 3> device_order;
  std::vector<int> processes;  ///< on each host, from the file; 0: as many as the cores suffice for
};

/// Reads a cluster's file and its calibration. Throws: RunError(Usage, Data) for an invalid file,
/// or for a calibration that was measured on another CPU than `cpu` or at another commit than
/// `git_commit`; a calibration written by hand fits any.
ClusterFile read_cluster(const std::filesystem::path& path, const std::string& cpu,
                         const std::string& git_commit);

/// Parses the text of a cluster's file. `name` names the text in errors. `calibration_at` reads the
/// calibration at the path in the text, which is relative to the cluster's file; `profile_at` the
/// text of a profile. Throws: RunError(Usage), and errors of these.
ClusterFile parse_cluster(
    const std::string& text, const std::string& name,
    const std::function<CalibrationFile(const std::string& path)>& calibration_at,
    const std::function<std::string(const std::string& profile)>& profile_at);

/// Returns the description of the cluster's hardware for a record.
record::HardwareRecord hardware_of(const ClusterFile& file);

/// The resources that a process of a run needs.
struct ProcessNeeds {
  int cores = 1;
};

/// Returns the index of each process's host. Hosts are filled in the order of the file, each up to
/// its number of `processes` or, if that is 0, up to its number of cores. Throws: RunError(Usage)
/// if the hosts have no room for all processes.
std::vector<int> hosts_of(const ClusterFile& file, const std::vector<ProcessNeeds>& needs);

}  // namespace regatta::simulate
