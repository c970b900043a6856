// SPDX-License-Identifier: Apache-2.0
//
// What NCCL reads besides its arguments. It takes its choice of an algorithm from the environment
// variable NCCL_ALGO when a communicator is made, and has no argument for it. So:
//   --all-reduce nccl  leaves NCCL_ALGO as the user has it
//   --all-reduce ring  means NCCL_ALGO=Ring: it is set in this process where it is not there;
//                      another value contradicts what was asked for and is refused
// None of these variables is ours; nccl_settings() is for records.
// Source: NCCL user guide, Environment Variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// Value of `--all-reduce` besides those of collective.h: the algorithm that NCCL itself chooses.
inline constexpr std::string_view kNccl = "nccl";

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

/// `NCCL_ALGO=Ring`, ...: all variables of this process whose names begin with NCCL_, sorted, and
/// `/etc/nccl.conf` where there is such a file, as NCCL reads that, too.
std::vector<std::string> nccl_settings();

}  // namespace regatta
