// SPDX-License-Identifier: Apache-2.0
//
// Sets variables that NCCL reads from the environment. NCCL has no argument for the algorithm, but
// reads NCCL_ALGO when a communicator is created. Therefore:
//   --all-reduce nccl  leaves NCCL_ALGO as the user set it
//   --all-reduce ring  needs NCCL_ALGO=Ring: sets it in this process if it is unset, and refuses
//                      another value
// From 2.30.3 on, NCCL lets members of a communicator share a GPU if NCCL_MULTI_RANK_GPU_ENABLE is
// 1. It reads that variable once per process, when the first communicator with several members is
// made, so we set it before that, whether or not members share a GPU. NCCL listens on the network
// interface in NCCL_SOCKET_IFNAME; by default on one that other hosts can reach. Run records
// contain all variables that begin with NCCL_, but not settings in files (/etc/nccl.conf), which
// the environment overrides. Source: NCCL user guide, Environment Variables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace regatta::comm {

/// Whether NCCL computes collectives between GPUs with this algorithm: `ring` or `nccl`.
bool is_nccl_algorithm(std::string_view algorithm);

/// Sets an environment variable during this object's lifetime, unless the variable was already set.
/// A process may have only one object for each variable. The object must outlive all communicators,
/// and must be created and destroyed while no other thread reads the environment.
class PinnedVariable {
 public:
  PinnedVariable(const char* name, const char* value);
  /// Removes the variable if the constructor has set it.
  ~PinnedVariable();
  PinnedVariable(const PinnedVariable&) = delete;
  PinnedVariable& operator=(const PinnedVariable&) = delete;

 private:
  const char* name_ = nullptr;  ///< null: the variable was already set
};

/// Sets NCCL_ALGO to the value that selects an algorithm, during this object's lifetime.
class PinnedNcclAlgorithm {
 public:
  /// Throws: RunError(Usage) if NCCL_ALGO contradicts `algorithm`.
  explicit PinnedNcclAlgorithm(std::string_view algorithm);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// Restricts NCCL to one of this machine's network interfaces during this object's lifetime, unless
/// the user has set NCCL_SOCKET_IFNAME.
class PinnedNcclInterface {
 public:
  /// `name` is an interface such as `lo`; if it is empty, NCCL chooses one.
  explicit PinnedNcclInterface(const std::string& name);

 private:
  std::optional<PinnedVariable> pinned_;
};

/// The first version of NCCL that lets members share a GPU.
inline constexpr int kSharesGpus = 23003;

/// Allows members to share a GPU, unless the environment forbids it: NCCL_MULTI_RANK_GPU_ENABLE is
/// set while at least one object of this class lives. Created before its owner's first
/// communicator, if NCCL is new enough. Threads: any; only the first object's constructor and the
/// last object's destructor change the environment.
class SharedGpuPermission {
 public:
  SharedGpuPermission();
  ~SharedGpuPermission();
  SharedGpuPermission(const SharedGpuPermission&) = delete;
  SharedGpuPermission& operator=(const SharedGpuPermission&) = delete;

  /// Called for members that share a GPU. Throws: RunError(Usage) if the environment forbids it.
  void require() const;
};

/// Returns this process's environment variables that begin with NCCL_, to pass them to other hosts.
std::map<std::string, std::string> nccl_variables();

}  // namespace regatta::comm
