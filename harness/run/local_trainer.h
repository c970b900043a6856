// SPDX-License-Identifier: Apache-2.0
//
// Training in this process: one executor with its kernels and transports. Each rank has one, for
// its part of the graph.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/run/backend.h"
#include "harness/run/trainer.h"
#include "harness/system/slurm_end.h"
#include "kernels/graph/traffic.h"

namespace regatta {

class LocalTrainer final : public Trainer {
 public:
  /// `part` is the whole placed step, or a rank's part of it; `rank` is for the report.
  /// Throws: RunError(Unsupported).
  LocalTrainer(const Step& part, std::unique_ptr<Backend> backend, const ExecutorOptions& options,
               std::int64_t rank);

  /// Connects the transports of all ranks, once every rank has built its own, and records steps for
  /// combined launches. Called once, before the first step.
  void connect();

  void advance_to(std::int64_t examples) override { executor_.run(examples); }
  std::int64_t examples_seen() const override { return executor_.examples_seen(); }
  std::optional<double> latest_loss() const override { return executor_.latest_loss(); }
  std::vector<VariableCopy> variables(Copies which) override;
  std::vector<VariableOnDevice> variables_on_devices() override;
  /// A variable of the part's graph. The caller may change it before begin_at().
  VariableCopy variable(VariableId id);
  /// Sets the variable's number of updates.
  void set_version(VariableId id, std::uint64_t version);
  /// Continues from the positions, with the caller's changes to the variables.
  void begin_at(const Positions& positions);
  void begin_at(const std::vector<VariableCopy>& variables, const Positions& positions) override;
  void interrupt(const RunError& error) override { executor_.interrupt(error); }
  void look() override { stop_at_slurm_end(); }
  /// Determines the lateness of workers, together with all ranks, between two calls of
  /// advance_to(). Throws: RunError(PeerLost).
  void settle_arrivals();
  /// Ends all waits for a lost process. Threads: any.
  void lose(int process, const std::string& reason);
  TrainingReport report() override;
  std::vector<ProcessTrace> traces() override;

 private:
  std::unique_ptr<Backend> backend_;
  Executor executor_;
  std::int64_t rank_;
};

/// Selects the variables for `which`: one chooser for all parts of a graph, in the order of
/// processes.
class CopyChooser {
 public:
  explicit CopyChooser(Copies which) : which_(which) {}
  /// Chooses in the order of the graph. Throws: nothing.
  std::vector<VariableId> choose(const Step& part);

 private:
  Copies which_;
  std::set<std::pair<int, std::string>> found_;  ///< by model and name
};

/// The report of one process; the resident memory is its own.
TrainingReport report_of(const Executor& executor, TrafficByPlace counted, std::int64_t rank);

}  // namespace regatta
