// SPDX-License-Identifier: Apache-2.0
//
// Finds lost ranks and the cause of a failure. A rank's silence is the sum of the intervals between
// calls of look(). Each interval counts as at most a quarter of a second: otherwise a coordinator
// that was suspended would take its ranks for dead.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_server.h"
#include "harness/ranks/launcher.h"
#include "kernels/base/error.h"

namespace regatta::ranks {

/// The workers of a run that may continue after it has lost some of them.
struct SpareWorkers {
  std::vector<int> by_rank;  ///< number of workers on each rank
  std::int64_t needed = 1;   ///< fewest workers, over all ranks, with which the run continues
};

/// The observations that decide whether a rank is lost.
struct RankSigns {
  bool greeted = false;                ///< it has connected
  bool broken = false;                 ///< its connection is broken
  std::chrono::nanoseconds coming{0};  ///< time until it connected
  /// Time since the rank's last message; until it has connected, time since its process was seen.
  std::chrono::nanoseconds silence{0};
  /// Time for which the rank or mpirun has been stopped (SIGSTOP); 0 once all ranks are ready.
  std::chrono::nanoseconds stopped{0};
};

/// The reason why a rank is lost; empty if it is not.
std::optional<std::string> why_lost(const RankSigns& signs);

class RankWatch {
 public:
  /// `places[r]` lists the places of rank r, for error messages. `global_batch` converts examples
  /// to steps.
  RankWatch(const ControlServer& server, Launcher& launcher, std::vector<std::string> places,
            std::int64_t global_batch);

  /// Notes that a rank has reported an error and cannot continue.
  void note(int rank, const control::Trouble& trouble);
  /// Notes that all ranks are ready. From then on no rank waits for mpirun in MPI_Init, so ranks
  /// are no longer checked for being stopped.
  void all_are_ready() { all_ready_ = true; }
  /// Lets the run continue after the loss of ranks numbered `rank` or higher, while at least
  /// `workers.needed` workers are left.
  void spare_workers(int rank, SpareWorkers workers) {
    spared_from_ = rank;
    workers_ = std::move(workers);
  }
  /// Checks all ranks. Returns true if the run cannot continue.
  bool look();
  /// The lost ranks in the order in which they were lost.
  const std::vector<int>& lost() const { return order_; }
  /// The reason why the rank is lost, as an error message.
  std::string why(int rank) const;
  /// True if cause() is final: a rank or mpirun has reported the cause, or no further report can
  /// come.
  bool is_clear();
  /// The error of the first failure, as far as it is known.
  RunError cause() const;
  /// The ranks whose output may show the cause: the one that failed first, and all that have not
  /// connected.
  std::vector<int> suspects() const;
  /// The last lines of a rank's output, each with the rank and its log file as prefix.
  std::vector<std::string> end_of_output(int rank) const;
  bool is_lost(int rank) const { return lost_.at(static_cast<std::size_t>(rank)).has_value(); }
  /// Formats the rank's name as `rank 1 (replica1, process 123 on vm)`.
  std::string name_of(int rank) const;

 private:
  struct Trouble {
    int rank = 0;
    control::Trouble message;
  };
  struct Cause {
    RunError error;
    int rank = -1;  ///< the failed rank; -1: none
  };
  RunError loss_of(int rank, const std::string& why) const;
  bool ends_the_run() const;
  bool cannot_do_without_the_lost() const;
  std::int64_t workers_left() const;
  std::string after_steps() const;
  std::string who_had_not_joined() const;
  Cause first_cause() const;
  std::string where_its_output_is(int rank) const;

  const ControlServer& server_;
  Launcher& launcher_;
  std::vector<std::string> places_;
  std::int64_t global_batch_;
  std::chrono::steady_clock::time_point looked_;
  std::vector<std::int64_t> beats_;
  std::vector<std::chrono::nanoseconds> silence_;
  std::vector<std::chrono::nanoseconds> coming_;   ///< until it connected
  std::vector<std::chrono::nanoseconds> stopped_;  ///< as RankSigns::stopped
  bool all_ready_ = false;
  std::vector<std::optional<std::string>> lost_;  ///< by rank: the reason
  std::vector<int> order_;                        ///< lost ranks, in the order of their loss
  int spared_from_ = std::numeric_limits<int>::max();
  SpareWorkers workers_{};
  std::vector<Trouble> troubles_;
};

}  // namespace regatta::ranks
