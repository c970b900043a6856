// SPDX-License-Identifier: Apache-2.0
//
// Trains in virtual time. A simulation of the cell on its cluster decides when and in which order
// loops claim their steps and read and update shared variables; the executor of this process, which
// holds all places of the graph, computes in that order. Staleness therefore affects the loss as it
// would on the cluster, and a synchronous strategy gives bitwise the results of a real run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/local_trainer.h"
#include "harness/simulate/virtual_cell.h"
#include "kernels/runtime/loops/access_order.h"

namespace regatta::simulate {

class VirtualTrainer final : public run::Trainer {
 public:
  /// `placed` is the whole step, before partition(). `options` are for the executor of this
  /// process.
  VirtualTrainer(VirtualCell cell, const Step& placed, std::unique_ptr<run::Backend> backend,
                 ExecutorOptions options);

  void advance_to(std::int64_t examples) override;
  /// The examples seen so far; after a failure, those at the end of the last advance_to() that
  /// succeeded.
  std::int64_t examples_seen() const override {
    return has_failed_ ? examples_ : trainer_->examples_seen();
  }
  std::optional<double> latest_loss() const override { return trainer_->latest_loss(); }
  /// The virtual time of the cluster at the end of the last advance_to(). Units: ns.
  std::int64_t clock_ns() const { return clock_ns_; }
  std::string host_of(std::int64_t process) const override { return cell_.host_of(process); }
  std::vector<run::VariableCopy> variables(run::Copies which) override {
    return trainer_->variables(which);
  }
  void interrupt(const RunError& error) override { trainer_->interrupt(error); }
  void look() override { trainer_->look(); }
  /// Aborts: virtual time has no checkpoints.
  void begin_at(const std::vector<run::VariableCopy>& variables,
                const Positions& positions) override;
  /// Reports times, bytes and staleness of the simulated cluster at the end of the last
  /// advance_to(), and losses, kernels and memory of this process.
  run::TrainingReport report() override;
  std::vector<ProcessTrace> traces() override { return {}; }

  const VirtualCell& cell() const { return cell_; }
  std::uint64_t events() const { return simulation_.events(); }

 private:
  VirtualCell cell_;
  AccessOrder order_;
  virtual_time::Simulation simulation_;
  std::unique_ptr<run::LocalTrainer> trainer_;
  run::TrainingReport of_cluster_;  ///< at the last stop, like the two members below
  std::int64_t clock_ns_ = 0;
  std::int64_t examples_ = 0;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace regatta::simulate
