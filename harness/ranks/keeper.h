// SPDX-License-Identifier: Apache-2.0
//
// Clears up after a run over processes, even if the coordinator is killed (SIGKILL): ends mpirun
// and the ranks of this machine, and removes the folders in which they had their files. Open MPI
// leaves its session folder and shared memory behind when mpirun is killed, and now and then when
// it loses its ranks. The keeper is a process of its own, this program again, because only that
// outlives the coordinator; it waits for the end of a pipe that the coordinator alone holds.
// Called by: the launcher. Threads: one.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/ranks/local_processes.h"

namespace regatta {

/// Where mpirun and the ranks of one run have their files on this machine. A folder that cannot be
/// made is left out: Open MPI then takes its usual one.
class RunFolders {
 public:
  enum class Memory { OfOpenMpi, OfTheRun };  ///< ranks of other hosts have no folder of this run

  RunFolders() = default;  ///< none: all are Open MPI's usual ones
  explicit RunFolders(Memory memory);
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;
  /// Removes them.
  ~RunFolders();

  const std::vector<std::string>& folders() const { return folders_; }
  /// By which Open MPI finds them.
  const std::map<std::string, std::string>& environment() const { return environment_; }

 private:
  std::vector<std::string> folders_;
  std::map<std::string, std::string> environment_;
};

class Keeper {
 public:
  /// Of an mpirun and of all that have `mark`, an entry, in their environment. Without a keeper,
  /// which cannot be started, the run goes on.
  Keeper(pid_t mpirun, const std::string& mark, const RunFolders& folders);
  /// Tells it that the run has ended in order, and waits until it has ended.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  pid_t process_ = 0;
  int pipe_ = -1;
};

/// True in a process that is to be a keeper.
bool is_keeper();

/// Its work. Returns the exit code.
int keep(const std::vector<std::string>& words);

}  // namespace regatta
