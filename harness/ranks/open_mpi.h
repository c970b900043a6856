// SPDX-License-Identifier: Apache-2.0
//
// The command line, output and variables of Open MPI. The differences between versions 4 and 5 are
// kept here and in ci/hosts, which sets the variables of both.
// Threads: functions may be called from any thread, a DeathNotice from one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

struct LaunchOptions;

/// The hosts on which ranks may run.
enum class Reach : std::uint8_t { ThisHost, Hosts };

/// Chooses the links of a rank to the others, before MPI_Init, unless the user has chosen: memory
/// on one host; over hosts TCP, bound to `own_address` (empty: all interfaces).
void choose_links(Reach reach, const std::string& own_address);

/// True if loopback_library.h keeps mpirun on loopback: when no other host takes part.
bool loads_loopback(const LaunchOptions& options);

/// Changes mpirun's environment so that it loads the library in this descriptor before those that
/// the user preloads. Its ranks load only the latter.
void preload_loopback(std::vector<std::string>& environment, int descriptor);

inline constexpr char kGetOpenMpi[] = "apt-get install openmpi-bin";
inline constexpr char kPreferOpenMpi[] =
    "put Open MPI's first in PATH (apt-get install openmpi-bin; update-alternatives --set mpirun "
    "/usr/bin/mpirun.openmpi)";

/// The first line of the version text of the mpirun in PATH; empty if there is none.
std::string mpirun_version();
/// The error if that line is of another mpirun than Open MPI's; empty if it is Open MPI's or
/// absent.
std::string why_not_open_mpi(const std::string& version);

/// mpirun and its flags, without the program to start.
std::vector<std::string> mpirun_command(const LaunchOptions& options);

/// Removes mpirun's tag `[1,RANK]<stdout>:` and one blank (which version 5 adds) from a line.
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
  /// Returns the death whose report this line completes. `line` has no tag and no newline.
  std::optional<RankDeath> take(const std::string& line);

 private:
  std::string said_;  ///< text since the last rule of dashes
};

}  // namespace regatta
