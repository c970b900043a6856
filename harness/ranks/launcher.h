// SPDX-License-Identifier: Apache-2.0
//
// Starts the ranks of a run by mpirun. A rank is this program with the same arguments.
// The output of rank k goes to FOLDER/rank<k>.log, that of mpirun itself to FOLDER/mpirun.log; a
// file is created when its first line arrives. Temporary folders and shared memory of mpirun and
// the ranks are removed after the run, whichever process is killed (keeper.h). In an existing
// allocation the launcher starts only rank 0, which shares this process's output. SIGINT, SIGTERM
// and SIGHUP to this process also end the ranks.
// Threads: used from one thread; a thread of the launcher reads the output.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/ranks/keeper.h"
#include "harness/ranks/local_processes.h"
#include "harness/ranks/mpirun.h"

namespace regatta::ranks {

/// Whether the other ranks are ended or go on when a rank dies.
enum class OnDeath : std::uint8_t { EndAll, GoOn };

enum class Start : std::uint8_t {
  All,      ///< all ranks, by mpirun
  RankZero  ///< only rank 0, in an existing allocation, where the other ranks already run
};

struct LaunchOptions {
  int ranks = 1;
  std::string hosts;  ///< an Open MPI hostfile; empty: this machine
  Reach reach = Reach::ThisHost;
  OnDeath on_death = OnDeath::EndAll;
  Start start = Start::All;
  std::filesystem::path logs;
  std::shared_ptr<Keeper> keeper;      ///< null: the launcher starts one for mpirun
  std::vector<std::string> arguments;  ///< arguments of ranks, without the program's name
  std::map<std::string, std::string> environment;  ///< added to this process's
};

class Launcher {
 public:
  /// Throws: RunError(Unsupported) if there is no mpirun, RunError(Io).
  explicit Launcher(const LaunchOptions& options);
  /// Ends all processes that still run, with SIGKILL if necessary.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// True if mpirun (or rank 0) still runs.
  bool running();
  /// True if the output has ended and all of it has been read.
  bool is_silent() const;
  /// Returns whether each rank is there, stopped or missing. Ranks on other machines count as
  /// Presence::There. Also finds deaths that mpirun does not report under OnDeath::GoOn.
  std::vector<Presence> presence() const;
  /// Waits up to `patience` for the ranks to end by themselves, then ends them by signals.
  void end(std::chrono::milliseconds patience);

  /// The first death of a rank by a signal that mpirun reported; empty if there is none.
  std::optional<RankDeath> first_death() const;
  /// The death of mpirun itself by a signal, worded like RankDeath::words; empty if there is none.
  std::optional<std::string> death_of_mpirun() const;
  /// True if mpirun has ended by itself without printing anything, as it does after a signal.
  bool ended_without_a_word() const;
  /// Returns mpirun's last lines of output, without lines of dashes. They show why a run ended
  /// before any rank printed something.
  std::string last_words() const;
  std::vector<std::string> last_lines(int rank) const;
  std::filesystem::path log_of(int rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta::ranks
