// SPDX-License-Identifier: Apache-2.0
//
// The command line, output and environment variables of Open MPI. Only this file and ci/hosts,
// which sets the variables of both versions, know the differences between versions 4 and 5.
// Threads: functions may be called from any thread, a DeathNotice from one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta::ranks {

struct LaunchOptions;

/// The hosts on which ranks may run: this one, or several.
enum class Reach : std::uint8_t { ThisHost, Hosts };

/// Selects this rank's links to the others, unless the user has selected them: shared memory on one
/// host; TCP between several hosts, through the interface with `own_address` (empty: Open MPI's
/// choice). Called before MPI_Init.
void choose_links(Reach reach, const std::string& own_address);

inline constexpr char kGetOpenMpi[] = "apt-get install openmpi-bin";
inline constexpr char kPreferOpenMpi[] =
    "put Open MPI's first in PATH (apt-get install openmpi-bin; update-alternatives --set mpirun "
    "/usr/bin/mpirun.openmpi)";

/// The first line of the version text of the mpirun in PATH; empty if there is none.
std::string mpirun_version();
/// Returns the error if mpirun_version() belongs to an MPI other than Open MPI; empty if it belongs
/// to Open MPI, or if `version` is empty.
std::string why_not_open_mpi(const std::string& version);

/// The command that starts ranks: mpirun and its flags, without the program to start.
std::vector<std::string> mpirun_command(const LaunchOptions& options);

/// Removes mpirun's tag `[1,RANK]<stdout>:`, and the blank that version 5 adds, from a line.
/// Returns the rank, or -1 if there is no tag.
int untag(std::string& text);

/// The death of a rank, as mpirun reports it.
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
