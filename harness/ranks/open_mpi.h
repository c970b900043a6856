// SPDX-License-Identifier: Apache-2.0
//
// How Open MPI's mpirun is called and what it says. What differs between its versions 4 and 5 is
// here, and beside it only in ci/hosts, which sets both versions' variables.
// Threads: functions any; a DeathNotice one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace regatta {

struct LaunchOptions;

/// mpirun and its flags, up to the program that it is to start.
std::vector<std::string> mpirun_command(const LaunchOptions& options);

/// The rank of a line that mpirun tagged `[1,RANK]<stdout>:` (version 5 puts a blank behind it), or
/// -1; `text` loses the tag and one blank.
int untag(std::string& text);

/// Of a rank, as mpirun tells it.
struct RankDeath {
  int rank = 0;
  std::string words;  ///< `exited on signal 9 (Killed)`
};

/// Finds a death in what mpirun itself prints, of which version 4 makes one line and version 5 two:
/// "prterun noticed that process rank 1 with PID 7 on node vm exited on / signal 9 (Killed)."
class DeathNotice {
 public:
  /// The death that this line completes. `line` has no tag and no newline.
  std::optional<RankDeath> take(const std::string& line);

 private:
  std::string said_;  ///< since the last rule of dashes
};

}  // namespace regatta
