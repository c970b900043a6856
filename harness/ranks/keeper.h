// SPDX-License-Identifier: Apache-2.0
//
// Cleans up after a run over processes, even if the coordinator is killed (SIGKILL): ends mpirun
// and this machine's ranks, and removes the folders with their files. Open MPI leaves its session
// folder and shared memory behind when mpirun is killed, and sometimes when it loses its ranks. The
// keeper is a separate process of this program, so that it survives the coordinator. It waits until
// a connection closes whose other end only the coordinator holds. Called by: the coordinator and
// the launcher. Threads: used from one thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/ranks/local_processes.h"

namespace regatta::ranks {

/// The folders for the files that mpirun and a run's ranks create on this machine. A folder that
/// cannot be created is left out, and Open MPI uses its default instead.
class RunFolders {
 public:
  /// The folder of Open MPI's shared memory: Open MPI's default, or one created for this run. Ranks
  /// on other hosts need the default, because the run's folder exists on this machine only.
  enum class Memory { OfOpenMpi, OfTheRun };

  RunFolders() = default;  ///< creates no folder: Open MPI uses its defaults
  explicit RunFolders(Memory memory);
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;
  ~RunFolders();

  const std::vector<std::string>& folders() const { return folders_; }
  /// The environment variables through which Open MPI finds the folders.
  const std::map<std::string, std::string>& environment() const { return environment_; }

 private:
  std::vector<std::string> folders_;
  std::map<std::string, std::string> environment_;
};

class Keeper {
 public:
  /// Starts a keeper that ends all processes with the entry `mark` in their environment; empty:
  /// none. If no keeper can be started, the run goes on without one.
  explicit Keeper(const std::string& mark);
  /// Signals to the keeper that the run has ended normally, and waits until the keeper has ended.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Makes the keeper remove the folder, if the coordinator is killed.
  void remove(const std::string& folder) { send_line(folder); }
  /// Makes the keeper end mpirun by SIGTERM, before it kills the remaining processes.
  void end(pid_t mpirun) { send_line(std::to_string(mpirun)); }

 private:
  void send_line(const std::string& line);

  pid_t process_ = 0;
  int connection_ = -1;
};

/// True in a process that was started as a keeper.
bool is_keeper();

/// Runs the keeper, in its own process. `words` are the process's arguments. Returns the exit code.
int keep(const std::vector<std::string>& words);

}  // namespace regatta::ranks
