// SPDX-License-Identifier: Apache-2.0
//
// A race in progress. Private to race_build.cpp, which sets the race up, and race.cpp, which runs
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/checkpoint/checkpoints.h"
#include "harness/plan/evaluation_points.h"
#include "harness/plan/placement.h"
#include "harness/race/race.h"
#include "harness/ranks/allocation.h"
#include "harness/run/backend.h"
#include "harness/run/evaluator.h"
#include "harness/run/peak.h"
#include "harness/run/trace_file.h"
#include "harness/run/trainer.h"
#include "harness/run/training_clock.h"
#include "harness/simulate/virtual_trainer.h"
#include "kernels/base/error.h"
#include "kernels/comm/nccl/nccl_settings.h"

namespace regatta::race {

class Race {
 public:
  /// Sets up the race, up to the moment before its clocks start. Throws: RunError for an invalid
  /// request.
  Race(const plan::RaceRequest& request, const RaceHooks& hooks);

  /// Trains and evaluates. Called once.
  record::Record run();

 private:
  void check_room();
  std::optional<record::LoadRecord> load_before();
  void measure_peak();
  void compute_data_weights();
  void describe(const std::string& dataset);
  std::int64_t examples_after(std::int64_t planned) const;
  void build();
  void unless_a_peer_is_lost(const std::function<void()>& set_up);
  void start_trainer(const Step& placed, const std::vector<Step>& parts);
  void start_virtual_trainer(const Step& placed, const std::vector<Step>& parts);
  void train();
  void advance_to(std::int64_t examples);
  run::EvaluationResult judge();
  void evaluate(std::int64_t examples);
  void report(std::int64_t examples, Occasion occasion);
  std::optional<double> training_loss() const;
  void tell(const std::string& line);
  std::int64_t full_ns() const;
  void fail(const RunError& error);
  run::TrainingReport last_report();
  std::optional<double> tokens_per_s(double examples_per_s) const;
  std::optional<record::UtilizationRecord> utilization() const;
  void finish();

  plan::RaceRequest request_;
  RaceHooks hooks_;
  std::optional<ranks::WaitingMembers> members_;     ///< only if mpirun or srun has started ranks
  std::optional<comm::PinnedNcclAlgorithm> pinned_;  ///< inherited by ranks and recorded
  std::optional<comm::PinnedNcclInterface> interface_;  ///< only if all ranks are on this host
  std::int64_t begin_ns_;
  checkpoint::Checkpoints checkpoints_;
  std::vector<int> cores_;         ///< used by this process
  std::int64_t cores_used_ = 0;    ///< over all hosts of the run
  std::optional<run::Peak> peak_;  ///< of one GPU, or of `cores_`
  workloads::DataSets data_;
  plan::Placement placement_;
  plan::EvaluationPoints evaluation_points_;
  std::unique_ptr<run::Backend> evaluation_backend_;
  std::unique_ptr<run::Trainer> trainer_;
  simulate::VirtualTrainer* virtual_ = nullptr;  ///< the trainer, if it trains in virtual time
  std::unique_ptr<run::Evaluator> evaluator_;
  std::optional<RunError> early_failure_;
  record::Record record_;
  std::int64_t run_begin_ns_ = 0;
  std::optional<std::int64_t> sent_before_;  ///< bytes before the run; empty in virtual time
  run::TrainingClock training_clock_;
  std::mutex progress_mutex_;
  run::TraceFile trace_;
};

}  // namespace regatta::race
