// SPDX-License-Identifier: Apache-2.0
//
// Starts the ranks of a run by Open MPI's mpirun: this program again, with the same arguments. What
// they print goes to FOLDER/rank<k>.log, what mpirun itself says to FOLDER/mpirun.log; a file is
// made when there is something to write. In an allocation that exists already it starts rank 0
// alone, which prints where this process does. SIGINT, SIGTERM and SIGHUP reach the ranks, too.
// Threads: one thread calls it; a thread of its own reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/ranks/open_mpi.h"

namespace regatta {

/// What becomes of the other ranks when one dies.
enum class OnDeath : std::uint8_t { EndAll, GoOn };

/// Whose ranks they are.
enum class Start : std::uint8_t {
  All,      ///< ours, by mpirun
  RankZero  ///< in an allocation that exists already: the others are there
};

/// Where ranks may be.
enum class Reach : std::uint8_t {
  ThisHost,  ///< their coordinator listens on loopback only
  Hosts
};

struct LaunchOptions {
  int ranks = 1;
  std::string hosts;  ///< an Open MPI hostfile; empty: this machine
  Reach reach = Reach::ThisHost;
  OnDeath on_death = OnDeath::EndAll;
  Start start = Start::All;
  std::filesystem::path logs;
  std::vector<std::string> arguments;              ///< of this program, without its name
  std::map<std::string, std::string> environment;  ///< that ranks get besides this process'
};

class Launcher {
 public:
  /// Throws: RunError(Unsupported) when there is no mpirun, RunError(Io).
  explicit Launcher(const LaunchOptions& options);
  /// Ends what still runs, by SIGKILL if it must.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  bool running();
  /// It has ended, and what it said has been read.
  bool is_silent() const;
  /// mpirun has started ranks on this machine, and this one is not among them any more: under
  /// OnDeath::GoOn mpirun says nothing of it.
  bool misses(int rank) const;
  /// Waits for the ranks to end by themselves, then makes them.
  void end(std::chrono::milliseconds patience);

  /// The rank that mpirun says died by a signal or with an exit code first, and its words.
  std::optional<RankDeath> first_death() const;
  /// Of mpirun itself, by a signal: in the same words.
  std::optional<std::string> death_of_mpirun() const;
  /// What mpirun said last, outside its frames; for when no rank ever spoke.
  std::string last_words() const;
  /// The last lines that a rank printed.
  std::vector<std::string> last_lines(int rank) const;
  std::filesystem::path log_of(int rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
