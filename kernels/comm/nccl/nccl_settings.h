// SPDX-License-Identifier: Apache-2.0
//
// The settings that NCCL reads from the environment. It has no argument for the algorithm: it reads
// the variable NCCL_ALGO when a communicator is created. So:
//   --all-reduce nccl  leaves NCCL_ALGO as the user set it
//   --all-reduce ring  needs NCCL_ALGO=Ring: sets it in this process if it is unset, and refuses
//                      another value
// It lets members of a communicator share a GPU, from 2.30.3 on, where NCCL_MULTI_RANK_GPU_ENABLE
// is 1. It reads that variable once a process, at the first communicator of several members, so it
// is set before any is made, whether or not members share a GPU. It listens at the interface that
// NCCL_SOCKET_IFNAME names, by itself at one that other hosts reach. Records contain all variables
// that begin with NCCL_. Settings in files (/etc/nccl.conf), which the environment overrides, are
// missing there. Source: NCCL user guide, Environment Variables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace regatta {

/// Whether NCCL computes collectives between GPUs by this algorithm: `ring` and `nccl`.
bool is_nccl_algorithm(std::string_view algorithm);

/// A variable that is set while this lives, unless it was before. A process has one for each, which
/// lives longer than all communicators, created and destroyed while no other thread reads the
/// environment.
class PinnedVariable {
 public:
  PinnedVariable(const char* name, const char* value);
  /// Restores the environment.
  ~PinnedVariable();
  PinnedVariable(const PinnedVariable&) = delete;
  PinnedVariable& operator=(const PinnedVariable&) = delete;

 private:
  const char* name_ = nullptr;  ///< null: it was set before, or nothing is
};

/// Holds NCCL_ALGO at the value for an algorithm.
class PinnedNcclAlgorithm {
 public:
  /// Throws: RunError(Usage) if NCCL_ALGO contradicts `algorithm`.
  explicit PinnedNcclAlgorithm(std::string_view algorithm);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// Holds NCCL at one of this machine's network interfaces, unless the user has chosen one.
class PinnedNcclInterface {
 public:
  /// Shapes: `lo`; empty: NCCL chooses.
  explicit PinnedNcclInterface(const std::string& name);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// NCCL's first version that lets members share a GPU.
inline constexpr int kSharesGpus = 23003;

/// Allows members to share a GPU, unless the environment forbids it: while one of these lives, the
/// variable is set. Made before the first communicator of its owner, where NCCL is new enough.
/// Threads: any; the environment changes with the first and the last only.
class SharedGpuPermission {
 public:
  SharedGpuPermission();
  ~SharedGpuPermission();
  SharedGpuPermission(const SharedGpuPermission&) = delete;
  SharedGpuPermission& operator=(const SharedGpuPermission&) = delete;

  /// For members that share a GPU. Throws: RunError(Usage) if the environment forbids it.
  void require() const;
};

/// This process's environment variables that begin with NCCL_, to be passed on to other hosts.
std::map<std::string, std::string> nccl_variables();

}  // namespace regatta
