// SPDX-License-Identifier: Apache-2.0
//
// The settings that NCCL reads from the environment. It has no argument for the algorithm: it reads
// the variable NCCL_ALGO when a communicator is created. So:
//   --all-reduce nccl  leaves NCCL_ALGO as the user set it
//   --all-reduce ring  needs NCCL_ALGO=Ring: sets it in this process if it is unset, and refuses
//                      another value
// Records contain all variables that begin with NCCL_. Settings in files (/etc/nccl.conf), which
// the environment overrides, are missing there.
// Source: NCCL user guide, Environment Variables.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace regatta {

/// Whether NCCL computes an all_reduce between GPUs by this algorithm: `ring` and `nccl`.
bool is_nccl_algorithm(std::string_view algorithm);

/// Holds NCCL_ALGO at the value for an algorithm. It lives longer than all communicators. A process
/// has one at a time, created and destroyed while no other thread reads the environment.
class PinnedNcclAlgorithm {
 public:
  /// Throws: RunError(Usage) if NCCL_ALGO contradicts `algorithm`.
  explicit PinnedNcclAlgorithm(std::string_view algorithm);
  /// Restores the environment.
  ~PinnedNcclAlgorithm();
  PinnedNcclAlgorithm(const PinnedNcclAlgorithm&) = delete;
  PinnedNcclAlgorithm& operator=(const PinnedNcclAlgorithm&) = delete;

 private:
  bool is_ours_ = false;
};

/// This process's environment variables that begin with NCCL_, to be passed on to other hosts.
std::map<std::string, std::string> nccl_variables();

}  // namespace regatta
