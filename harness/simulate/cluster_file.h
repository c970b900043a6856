// SPDX-License-Identifier: Apache-2.0
//
// The file of `--cluster`: a cluster that need not exist, in TOML.
//   calibration = "calibration.json"   # beside this file: costs of kernels and messages
//   threads_per_worker = 1
//   server_cores = 1                   # of a parameter server
//   machine_cores = 2                  # one real machine's cores, dealt to hosts in turn, one each
//   latency_us = 25                    # from one host to another
//   core_gbit_per_s = 40               # of the link shared by all traffic between hosts
//   queue_kb = 80                      # that a flow keeps queued before a full link; a new flow
//                                      # waits behind it (ci/link_queue); 0 if left out
//   seed = 1                           # of compute times
//   [compute_times]                    # default: the step times in the calibration
//   kind = "gamma"                     # constant, gamma, log_normal, shifted_exponential, samples
//   spread = 0.2
//   [[host]]
//   count = 8
//   cores = 2
//   gbit_per_s = 10                    # each way; or out_gbit_per_s and in_gbit_per_s
//   processes = 1                      # default: as many as there are cores for
// A link without a bandwidth has no limit. All numbers have a range, which an error names. Without
// machine_cores hosts have cores of their own. Workers and servers that use more cores than there
// are share them evenly: if hosts have one core of a machine, where messages take a share, too, or
// if `processes` exceeds a host's cores.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/record/record.h"
#include "harness/simulate/calibration.h"
#include "harness/system/machine.h"
#include "kernels/virtual/cluster.h"

namespace regatta {

struct ClusterFile {
  virtual_time::Cluster cluster;  ///< with the calibration's transports
  Calibration calibration;
  std::string digest;  ///< of the file, sixteen hexadecimal digits
  std::string calibration_digest;
  std::vector<int> processes;  ///< by host, if in the file; 0: as many as have cores
};

/// Reads the file. Throws: RunError(Usage, Data) for an invalid file, or for a calibration of
/// another processor or commit than this program's, unless it was written by hand.
ClusterFile read_cluster(const std::filesystem::path& path, const std::string& cpu,
                         const std::string& git_commit);

/// Parses the text of a file. `name`: its name, for errors. `calibration_at`: reads the calibration
/// at the path in the text, relative to it. Throws: RunError(Usage), and whatever `calibration_at`
/// throws.
ClusterFile parse_cluster(
    const std::string& text, const std::string& name,
    const std::function<CalibrationFile(const std::string& path)>& calibration_at);

/// The cluster's hardware, for the record.
HardwareRecord hardware_of(const ClusterFile& file);

/// The resources that a process of a run needs.
struct ProcessNeeds {
  int cores = 1;
};

/// The host of each process; hosts are filled in their order.
/// Throws: RunError(Usage) if the cores, or the processes that the file allows, do not suffice.
std::vector<int> hosts_of(const ClusterFile& file, const std::vector<ProcessNeeds>& needs);

}  // namespace regatta
