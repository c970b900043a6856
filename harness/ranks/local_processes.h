// SPDX-License-Identifier: Apache-2.0
//
// Processes on this machine: mpirun, and its children, the ranks that it has started here.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace regatta::ranks {

inline constexpr std::chrono::seconds kKindness{3};  ///< time between SIGTERM and SIGKILL

/// Holds a process by a descriptor (pidfd), because the process's id may be reused once the process
/// has ended.
class ProcessHandle {
 public:
  /// `process` must still exist, for example as an unreaped child.
  explicit ProcessHandle(pid_t process);
  ~ProcessHandle();
  ProcessHandle(ProcessHandle&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  ProcessHandle& operator=(ProcessHandle&&) = delete;
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;

  /// Readable once the process has ended; -1 if it had already ended.
  int descriptor() const { return descriptor_; }
  void send(int signal) const;
  /// Waits up to `limit` for the process to end. True if it has ended.
  bool ends_within(std::chrono::milliseconds limit) const;

 private:
  int descriptor_ = -1;  ///< -1 if the process had already ended
};

/// Kills all processes (SIGKILL) and waits up to a second for each to end.
void kill_all(const std::vector<ProcessHandle>& processes);

/// The children of a process; empty if it has none or has ended.
std::vector<pid_t> children_of(pid_t process);
/// The processes that mpirun has started here; MPICH's mpirun starts them by a child of its own.
std::vector<pid_t> children_of_mpirun(pid_t mpirun);
std::vector<ProcessHandle> handles_of(const std::vector<pid_t>& processes);

/// The processes that were started with `entry`, such as `NAME=VALUE`, in their environment, and
/// their descendants. Searches all processes of the machine.
std::vector<ProcessHandle> processes_with(const std::string& entry);

/// True if a signal (SIGSTOP, Ctrl-Z) or a debugger has stopped the process.
bool is_stopped(pid_t process);

enum class Presence : std::uint8_t {
  There,    ///< the rank runs, or may not have been started yet
  Stopped,  ///< the rank or mpirun is stopped (SIGSTOP)
  Missing   ///< other ranks were found here, but not this one
};

/// Returns whether each rank is there, stopped or missing, from one look at each child of mpirun.
/// If mpirun has no children, all ranks count as There: they have not been started yet, or run on
/// other machines.
std::vector<Presence> presence_of_ranks(pid_t mpirun, int ranks);

}  // namespace regatta::ranks
