// SPDX-License-Identifier: Apache-2.0
//
// Trains in this process, with one executor and its kernels and transports. Each rank of a run over
// processes has a LocalTrainer for its part of the graph.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/run/backend.h"
#include "harness/run/trainer.h"
#include "harness/system/slurm_end.h"
#include "kernels/distribute/traffic.h"

namespace regatta::run {

class LocalTrainer final : public Trainer {
 public:
  /// `part` is the whole placed step, or a rank's part of the step; `rank` is written to the
  /// report.
  /// Throws: RunError(Unsupported).
  LocalTrainer(const Step& part, std::unique_ptr<Backend> backend, const ExecutorOptions& options,
               std::int64_t rank);

  /// Connects this rank's transports to those of the others, and records steps for combined
  /// launches (CUDA graphs). Called once, before the first step, after every rank has built its
  /// transports.
  void connect();

  void advance_to(std::int64_t examples) override { executor_.run(examples); }
  std::int64_t examples_seen() const override { return executor_.examples_seen(); }
  std::optional<double> latest_loss() const override { return executor_.latest_loss(); }
  std::vector<VariableCopy> variables(Copies which) override;
  std::vector<VariableOnDevice> variables_on_devices() override;
  /// A variable of the part's graph. The caller may change its values before begin_at().
  VariableCopy variable(VariableId id);
  /// Sets the variable's version, the number of its updates.
  void set_version(VariableId id, std::uint64_t version);
  /// Continues training at `positions`, with the values that the caller has written to variable().
  void begin_at(const Positions& positions);
  void begin_at(const std::vector<VariableCopy>& variables, const Positions& positions) override;
  void interrupt(const RunError& error) override { executor_.interrupt(error); }
  void look() override { system::stop_at_slurm_end(); }
  /// Determines how late members in other processes arrived at exchanges. A collective call: every
  /// rank makes it, between two calls of advance_to(). Throws: RunError(PeerLost).
  void settle_arrivals();
  /// Ends all waits for `process`, which was lost for `reason`. Threads: any.
  void lose(int process, const std::string& reason);
  TrainingReport report() override;
  std::vector<ProcessTrace> traces() override;

 private:
  std::unique_ptr<Backend> backend_;
  Executor executor_;
  std::int64_t rank_;
};

/// Selects the variables that `which` asks for. One chooser serves all parts of a graph, because a
/// variable may have copies in several of them.
class CopyChooser {
 public:
  explicit CopyChooser(Copies which) : which_(which) {}
  /// The chosen variables of a part, in the order of its graph. Called for the parts in the order
  /// of their processes.
  std::vector<VariableId> choose(const Step& part);

 private:
  Copies which_;
  std::set<std::pair<int, std::string>> found_;  ///< by model and name
};

/// The report of one process. `counted` is the traffic that its transports counted.
TrainingReport report_of(const Executor& executor, TrafficByPlace counted, std::int64_t rank);

}  // namespace regatta::run
