// SPDX-License-Identifier: Apache-2.0
//
// The command lines, output and environment variables of Open MPI's and MPICH's mpirun. Only this
// file and ci/hosts, which sets the variables of both versions of Open MPI, know the differences
// between versions 4 and 5.
// Threads: functions may be called from any thread, a DeathNotice from one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/comm/mpi/mpi_library.h"

namespace regatta::ranks {

struct LaunchOptions;

/// The hosts on which ranks may run: this one, or several.
enum class Reach : std::uint8_t { ThisHost, Hosts };

/// Selects this rank's links to the others, unless the user has selected them: shared memory on one
/// host; TCP between several hosts, through the interface with `own_address` (empty: Open MPI's
/// choice). Called before MPI_Init.
void choose_links(Reach reach, const std::string& own_address);

/// The first line of the version text of the mpirun in PATH; empty if there is none.
std::string mpirun_version();
/// Returns the error if mpirun_version() belongs to another MPI than the library; empty if it fits,
/// or if `version` is empty.
std::string why_not_mpirun(const std::string& version, comm::MpiKind library);

/// The command that starts ranks: mpirun and its flags, without the program to start.
/// Throws: RunError(Unsupported) if MPICH's mpirun has no such option.
std::vector<std::string> mpirun_command(const LaunchOptions& options, comm::MpiKind kind);

/// The rank in a variable (`NAME=VALUE`) that an mpirun sets for a process; empty for other
/// variables.
std::optional<int> rank_in_variable(const std::string& entry);

/// Removes mpirun's tag from a line: `[1,RANK]<stdout>:`, with a blank after it in version 5; in
/// MPICH `[RANK] `. Returns the rank, or -1 if there is no tag.
int untag(std::string& text);

/// The death of a rank, as Open MPI's mpirun reports it. MPICH's does not name the rank.
struct RankDeath {
  int rank = 0;
  std::string words;  ///< `exited on signal 9 (Killed)`
};

/// Finds reports of deaths in mpirun's own output. Version 4 prints one line, version 5 two:
/// "prterun noticed that process rank 1 with PID 7 on node vm exited on / signal 9 (Killed)."
class DeathNotice {
 public:
  /// Reads the next line, which has no tag and no newline. Returns the death whose report it
  /// completes, if any.
  std::optional<RankDeath> take(const std::string& line);

 private:
  std::string said_;  ///< text since the last line of dashes
};

}  // namespace regatta::ranks
