// SPDX-License-Identifier: Apache-2.0
//
// Which ranks are lost, and why. Silence is summed up over looks that count for a quarter of a
// second at most, so that a coordinator that was stopped itself does not take its ranks for dead.
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
#include "kernels/graph/error.h"

namespace regatta {

/// Who computes, where a run may go on with fewer.
struct SpareWorkers {
  std::vector<int> by_rank;
  std::int64_t needed = 1;  ///< over all ranks
};

class RankWatch {
 public:
  /// `places`: of each rank, for messages. `steps`: from examples to steps.
  RankWatch(const ControlServer& server, Launcher& launcher, std::vector<std::string> places,
            std::int64_t global_batch);

  /// A rank has said that it cannot go on.
  void note(int rank, const control::Trouble& trouble);
  /// From now on the run may go on without ranks from this number on, as long as enough workers are
  /// left.
  void spare_workers(int rank, SpareWorkers workers) {
    spared_from_ = rank;
    workers_ = std::move(workers);
  }
  /// Looks at all ranks. True when the run cannot go on.
  bool look();
  /// Ranks that the run goes on without, as they were lost, and why.
  const std::vector<int>& lost() const { return order_; }
  std::string why(int rank) const;
  /// True when it is known what there is to know: mpirun has said what a rank died of.
  bool is_clear();
  /// Of what failed first, as far as can be told.
  RunError cause() const;
  /// Who failed first, and who had not joined when it did: whose last lines may say why.
  std::vector<int> suspects() const;
  /// What a rank printed last, a few lines, each behind the rank and its file.
  std::vector<std::string> end_of_output(int rank) const;
  bool is_lost(int rank) const { return lost_.at(static_cast<std::size_t>(rank)).has_value(); }
  /// `rank 1 (replica1, process 123 on vm)`
  std::string name_of(int rank) const;

 private:
  struct Trouble {
    int rank = 0;
    control::Trouble message;
  };
  struct Cause {
    RunError error;
    int rank = -1;  ///< that it is about; -1: none
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
  std::vector<std::optional<std::string>> lost_;  ///< by rank: why
  std::vector<int> order_;                        ///< ranks as they were lost
  int spared_from_ = std::numeric_limits<int>::max();
  SpareWorkers workers_{};
  std::vector<Trouble> troubles_;
};

}  // namespace regatta
