// SPDX-License-Identifier: Apache-2.0
//
// What NCCL reads besides its arguments. It takes its choice of an algorithm from the environment
// variable NCCL_ALGO when a communicator is made, and has no argument for it. So:
//   --all-reduce nccl  leaves NCCL_ALGO as the user has it
//   --all-reduce ring  means NCCL_ALGO=Ring: it is set in this process where it is not there;
//                      another value contradicts what was asked for and is refused
// None of these variables is ours, and records have all of them. What NCCL reads of files
// (/etc/nccl.conf) does not go before the environment, and is in no record.
// Source: NCCL user guide, Environment Variables.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace regatta {

/// Whether NCCL computes an all_reduce of this algorithm between GPUs.
bool is_nccl_algorithm(std::string_view algorithm);

/// From before the first communicator is made until after the last is gone: NCCL_ALGO as the
/// algorithm wants it. One at a time, while no other thread reads the environment.
class PinnedNcclAlgorithm {
 public:
  /// Throws: RunError(Usage) where the environment asks for something else.
  explicit PinnedNcclAlgorithm(std::string_view algorithm);
  /// Leaves the environment as it was.
  ~PinnedNcclAlgorithm();
  PinnedNcclAlgorithm(const PinnedNcclAlgorithm&) = delete;
  PinnedNcclAlgorithm& operator=(const PinnedNcclAlgorithm&) = delete;

 private:
  bool is_ours_ = false;
};

/// The variables of this process whose names begin with NCCL_: what processes on other hosts need,
/// too.
std::map<std::string, std::string> nccl_variables();

}  // namespace regatta
