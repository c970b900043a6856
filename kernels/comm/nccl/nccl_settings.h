// SPDX-License-Identifier: Apache-2.0
//
// The settings that NCCL reads from the environment. NCCL has no argument for the algorithm: it
// reads the variable NCCL_ALGO when a communicator is created. So:
//   --all-reduce nccl  leaves NCCL_ALGO as the user set it
//   --all-reduce ring  needs NCCL_ALGO=Ring: sets it in this process if it is unset, and refuses
//                      another value
// From 2.30.3 on, NCCL lets members of a communicator share a GPU if NCCL_MULTI_RANK_GPU_ENABLE is
// 1. It reads that variable once a process, at the first communicator of several members, so it is
// set before any is made, whether or not members share a GPU. NCCL listens at the interface that
// NCCL_SOCKET_IFNAME names; by default at one that other hosts reach. Records contain all variables
// that begin with NCCL_, but not settings in files (/etc/nccl.conf), which the environment
// overrides. Source: NCCL user guide, Environment Variables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace regatta {

/// Whether NCCL computes collectives between GPUs with this algorithm: `ring` or `nccl`.
bool is_nccl_algorithm(std::string_view algorithm);

/// Sets an environment variable during its lifetime, unless the variable was already set. A process
/// has one for each variable; it outlives all communicators, and is created and destroyed while no
/// other thread reads the environment.
class PinnedVariable {
 public:
  PinnedVariable(const char* name, const char* value);
  /// Restores the environment.
  ~PinnedVariable();
  PinnedVariable(const PinnedVariable&) = delete;
  PinnedVariable& operator=(const PinnedVariable&) = delete;

 private:
  const char* name_ = nullptr;  ///< null: the variable was already set
};

/// Holds NCCL_ALGO at the value for an algorithm.
class PinnedNcclAlgorithm {
 public:
  /// Throws: RunError(Usage) if NCCL_ALGO contradicts `algorithm`.
  explicit PinnedNcclAlgorithm(std::string_view algorithm);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// Restricts NCCL to one of this machine's network interfaces, unless the user has chosen one.
class PinnedNcclInterface {
 public:
  /// `name` is an interface, `lo`; if it is empty, NCCL chooses.
  explicit PinnedNcclInterface(const std::string& name);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// The first version of NCCL that lets members share a GPU.
inline constexpr int kSharesGpus = 23003;

/// Allows members to share a GPU, unless the environment forbids it: the variable is set while any
/// of these lives. Made before its owner's first communicator, if NCCL is new enough. Threads: any;
/// only the first and the last change the environment.
class SharedGpuPermission {
 public:
  SharedGpuPermission();
  ~SharedGpuPermission();
  SharedGpuPermission(const SharedGpuPermission&) = delete;
  SharedGpuPermission& operator=(const SharedGpuPermission&) = delete;

  /// Called for members that share a GPU. Throws: RunError(Usage) if the environment forbids it.
  void require() const;
};

/// This process's environment variables that begin with NCCL_, to be passed on to other hosts.
std::map<std::string, std::string> nccl_variables();

}  // namespace regatta
