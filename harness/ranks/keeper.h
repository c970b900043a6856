// SPDX-License-Identifier: Apache-2.0
//
// Clears up after a run over processes, even if the coordinator is killed (SIGKILL): ends mpirun
// and this machine's ranks, and removes the folders with their files. Open MPI leaves its session
// folder and shared memory behind when mpirun is killed, and sometimes when it loses its ranks. The
// keeper is a separate process, this program again, because only that outlives the coordinator; it
// waits for the end of a pipe that only the coordinator holds. Called by: the launcher. Threads:
// one.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/ranks/local_processes.h"

namespace regatta {

/// The folders for files of mpirun and of a run's ranks on this machine. One that cannot be made is
/// left out: Open MPI then uses its default.
class RunFolders {
 public:
  enum class Memory { OfOpenMpi, OfTheRun };  ///< ranks on other hosts have no folder of this run

  RunFolders() = default;  ///< none: all are Open MPI's defaults
  explicit RunFolders(Memory memory);
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;
  /// Removes the folders.
  ~RunFolders();

  const std::vector<std::string>& folders() const { return folders_; }
  /// The variables by which Open MPI finds the folders.
  const std::map<std::string, std::string>& environment() const { return environment_; }

 private:
  std::vector<std::string> folders_;
  std::map<std::string, std::string> environment_;
};

class Keeper {
 public:
  /// Starts a keeper for mpirun and all processes with the entry `mark` in their environment. If it
  /// cannot be started, the run goes on without.
  Keeper(pid_t mpirun, const std::string& mark, const RunFolders& folders);
  /// Signals that the run has ended in order, and waits for the keeper's end.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  pid_t process_ = 0;
  int pipe_ = -1;
};

/// True in a process that was started as a keeper.
bool is_keeper();

/// Runs the keeper. Returns the exit code.
int keep(const std::vector<std::string>& words);

}  // namespace regatta
