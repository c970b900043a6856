// SPDX-License-Identifier: Apache-2.0
//
// Processes of this machine: mpirun, and the ranks that it has started here, which are its
// children.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

inline constexpr std::chrono::seconds kKindness{3};  ///< from SIGTERM to SIGKILL

/// A process held by a descriptor, because its id may be reused once it has ended.
class ProcessHandle {
 public:
  /// `process` must exist: an unreaped child, for example.
  explicit ProcessHandle(pid_t process);
  /// Takes over an inherited descriptor.
  static ProcessHandle of_descriptor(int descriptor) { return ProcessHandle(Taken{descriptor}); }
  ~ProcessHandle();
  ProcessHandle(ProcessHandle&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  ProcessHandle& operator=(ProcessHandle&&) = delete;
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;

  int descriptor() const { return descriptor_; }
  void send(int signal) const;
  /// Waits up to `limit` for its end. True if it has ended.
  bool ends_within(std::chrono::milliseconds limit) const;

 private:
  struct Taken {
    int descriptor;
  };
  explicit ProcessHandle(Taken taken) : descriptor_(taken.descriptor) {}

  int descriptor_ = -1;  ///< -1: it had already ended
};

/// Kills all and waits until they have ended, up to a second for each.
void kill_all(const std::vector<ProcessHandle>& processes);

/// The children of a process; empty also if it has ended.
std::vector<pid_t> children_of(pid_t process);
std::vector<ProcessHandle> handles_of(const std::vector<pid_t>& processes);

/// The processes that were started with this entry in their environment, such as `NAME=VALUE`, and
/// whatever they have started. Searches all processes of the machine.
std::vector<ProcessHandle> processes_with(const std::string& entry);

/// True if a signal (SIGSTOP, Ctrl-Z) or a debugger has stopped the process.
bool is_stopped(pid_t process);

enum class Presence : std::uint8_t {
  There,    ///< or not started yet
  Stopped,  ///< it, or mpirun, is stopped
  Missing   ///< only others are there
};

/// The presence of each rank, from one look at each child of mpirun. Without children, ranks are
/// still to start, or run on other machines.
std::vector<Presence> presence_of_ranks(pid_t mpirun, int ranks);

}  // namespace regatta
