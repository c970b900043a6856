// SPDX-License-Identifier: Apache-2.0
#include "harness/race.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "harness/checkpoint/checkpoints.h"
#include "harness/make_trainer.h"
#include "harness/plan/capture_rule.h"
#include "harness/plan/cell.h"
#include "harness/plan/device_name.h"
#include "harness/plan/engine_rule.h"
#include "harness/plan/fingerprint.h"
#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/plan/slurm_room.h"
#include "harness/plan/training_options.h"
#include "harness/ranks/allocation.h"
#include "harness/run/backend.h"
#include "harness/run/evaluator.h"
#include "harness/run/ticker.h"
#include "harness/run/trace_file.h"
#include "harness/run/training_clock.h"
#include "harness/summary.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/run_id.h"
#include "harness/system/slurm_end.h"
#include "harness/system/slurm_job.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"
#include "kernels/runtime/gpu_facts.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

class Race {
 public:
  Race(const RaceRequest& request, const RaceHooks& hooks)
      : request_(request), hooks_(hooks), begin_ns_(now_ns()), checkpoints_(request) {
    const Workload& workload = find_workload(request.workload);
    find_strategies(request.strategy);  // complain about names before loading data
    const std::string dataset = dataset_of(request, workload);
    check_room();
    cores_ = available_cores(request.threads);
    cores_used_ = std::ssize(cores_);
    data_ = load_data(workload, dataset, files_of(request));
    placement_ = place(request, data_.train.count);
    if (placement_.by_nccl) pinned_.emplace(*nccl_algorithm(request));
    weigh();
    describe(dataset);
    if (!request.trace.empty()) trace_.create(request.trace, request.if_there);
    build();
    if (hooks.ready) hooks.ready();
    unless_a_peer_is_lost([&] { checkpoints_.write_first(*trainer_, record_); });
    record_.setup_ns = now_ns() - begin_ns_;
  }

  Record run() {
    try {
      train();
    } catch (const RunError& error) {
      fail(error);
    }
    finish();
    if (hooks_.ended) hooks_.ended(record_);
    if (record_.status != Status::Failed) checkpoints_.remove();
    if (trainer_) trace_.write(*trainer_);  // last, because a full disk must not cost the record
    return std::move(record_);
  }

 private:
  void check_room();
  void weigh();
  void describe(const std::string& dataset);
  std::int64_t come_to(std::int64_t planned) const;
  void build();
  void unless_a_peer_is_lost(const std::function<void()>& set_up);
  void start_trainer(const Step& placed, std::vector<Step> parts);
  void train();
  void advance_to(std::int64_t examples);
  EvaluationResult judge();
  void evaluate(std::int64_t examples);
  void report(std::int64_t examples, Occasion occasion);
  std::optional<double> training_loss() const;
  void tell(const std::string& line);
  void fail(const RunError& error);
  TrainingReport last_report();
  void finish();

  RaceRequest request_;
  RaceHooks hooks_;
  std::optional<WaitingMembers> members_;      ///< of the run, if somebody else has started them
  std::optional<PinnedNcclAlgorithm> pinned_;  ///< ranks inherit it, and the record has it
  std::int64_t begin_ns_;
  Checkpoints checkpoints_;
  std::vector<int> cores_;       ///< of this process
  std::int64_t cores_used_ = 0;  ///< over all hosts of the run
  DataSets data_;
  Placement placement_;
  EvaluationPoints evaluation_points_;
  std::unique_ptr<Backend> evaluation_backend_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  std::optional<RunError> early_failure_;
  Record record_;
  std::int64_t run_begin_ns_ = 0;
  TrainingClock training_clock_;
  std::mutex progress_mutex_;
  TraceFile trace_;
};

/// There is room for the run's processes, or somebody else has started as many.
void Race::check_room() {
  if (allocated_processes() == 0 && !slurm_job()) return;
  const Placement placement = place_without_data(request_);
  check_allocation(placement.processes);
  if (allocated_processes() == 0) return require_room(request_, placement);
  members_.emplace(request_.arguments);
}

/// The result clock counts it.
void Race::weigh() {
  const std::int64_t begin_ns = now_ns();
  placement_.recipe.data_weights = data_weights_of(*placement_.workload, data_.train);
  record_.data_weights_ns = now_ns() - begin_ns;
}

void Race::describe(const std::string& dataset) {
  record_.cell =
      cell_of(request_, placement_, {.dataset = dataset, .cores = static_cast<int>(cores_.size())});
  if (data_.train.origin == DataOrigin::Unverified || data_.test.origin == DataOrigin::Unverified) {
    record_.cell.unverified_data = digest_of(data_);
  }
  const Workload& workload = *placement_.workload;
  record_.target = {.metric = std::string(to_string(workload.metric)),
                    .value = request_.target.value_or(workload.target)};
  record_.run_id = random_hexadecimal(kRunIdBytes);
  record_.timestamp = utc_timestamp();
  record_.command = request_.command;
  record_.resumed = checkpoints_.resumed();
}

/// Shares of a batch may be uneven, and with backup workers so are steps: one may end beyond what
/// it was to come to.
std::int64_t Race::come_to(std::int64_t planned) const {
  if (!placement_.facts.has_quorum) return planned;
  return std::max(planned, trainer_->examples_seen());
}

void Race::build() {
  // Says what the machine or the build lacks.
  evaluation_backend_ = make_backend(request_.device, {.engines = engines_of(placement_)});
  const std::int64_t build_begin = now_ns();
  const Step placed = placed_step(placement_);
  std::vector<Step> parts = partition(placed, binding_of(placement_));
  const std::int64_t steps = placement_.recipe.total_examples / placement_.recipe.global_batch;
  record_.graph = graph_record(parts, std::max<std::int64_t>(1, steps));
  record_.graph.build_ns = now_ns() - build_begin;

  evaluation_points_ = evaluation_points_of(placement_);
  const Recipe evaluated = evaluated_recipe(request_, placement_.recipe, data_.test.count);
  evaluator_ = std::make_unique<Evaluator>(
      *placement_.workload, as_computed(placement_, placement_.workload->evaluation(evaluated)),
      data_.test, *evaluation_backend_,
      EvaluatorOptions{
          .cores = cores_,
          .evaluations = most_evaluations(evaluation_points_),
          .models = static_cast<int>(record_.graph.models),
          .groups = dealt_groups(placed.global_batch / placed.normalization_group,
                                 placement_.options.replicas, backup_workers_of(placement_)),
          .launch = launch_of_evaluations(request_)});
  unless_a_peer_is_lost([&] {
    start_trainer(placed, std::move(parts));
    record_.checksums.initial_weights = checksum_of_weights(*trainer_);
    record_.checksums.data = digest_of(data_);
    checkpoints_.restore(*trainer_, record_);
  });
}

/// That is not the request's fault: a row of the result.
void Race::unless_a_peer_is_lost(const std::function<void()>& set_up) {
  try {
    if (!early_failure_) set_up();
  } catch (const RunError& error) {
    const bool leaves_a_row = error.kind() == ErrorKind::PeerLost ||
                              error.kind() == ErrorKind::Timeout ||
                              error.kind() == ErrorKind::Cancelled;
    if (!leaves_a_row) throw;
    early_failure_ = error;
  }
}

void Race::start_trainer(const Step& placed, std::vector<Step> parts) {
  Fingerprint fingerprint;  // whose hashes take time
  if (placement_.processes > 1 || checkpoints_.wanted()) {
    fingerprint = fingerprint_of(request_, placement_, placed, data_.train, software_facts());
  }
  trainer_ = make_trainer({.request = request_,
                           .placement = placement_,
                           .data = data_.train,
                           .cores = cores_,
                           .threads_per_worker = record_.cell.threads_per_worker,
                           .run_id = record_.run_id,
                           .fingerprint = fingerprint,
                           .started =
                               [this] {
                                 if (members_) members_->are_told();
                               },
                           .tell = [this](const std::string& line) { tell(line); }},
                          std::move(parts));
  if (const std::vector<HostCores> hosts = trainer_->hosts(); !hosts.empty()) {
    count_cores(hosts, record_.cell);
    cores_used_ = 0;
    for (const HostCores& host : hosts) cores_used_ += host.cores;
  }
  if (checkpoints_.wanted()) checkpoints_.identify(fingerprint, record_);
}

void Race::train() {
  if (early_failure_) throw RunError(*early_failure_);
  const std::int64_t total = placement_.recipe.total_examples;
  const RunPosition begin = checkpoints_.begin();
  training_clock_.begin_at(begin.training_ns);
  const std::int64_t warmup_begin = now_ns();
  const EvaluationResult first = judge();  // also warms the evaluator up
  record_.warmup_ns = now_ns() - warmup_begin;
  run_begin_ns_ = now_ns() - begin.full_ns;
  if (begin.examples == 0) {
    record_.evaluations.push_back(
        {.loss = first.loss, .metric = first.metric, .parameter_norm = first.parameter_norm});
  }
  report(begin.examples, Occasion::Evaluation);
  const Ticker ticker([this, is_told = false]() mutable {
    if (SlurmEndNotice::has_come() && !std::exchange(is_told, true)) {
      trainer_->interrupt(*slurm_end());
    }
    report(trainer_->examples_seen(), Occasion::Tick);
  });
  for (std::int64_t examples = begin.examples; examples < total;) {
    const std::int64_t due = checkpoints_.next_after(examples, placement_.recipe.global_batch);
    const std::int64_t next =
        next_evaluation(evaluation_points_, record_.target, record_.evaluations, examples);
    const std::int64_t planned = std::min(next, due);
    advance_to(planned);
    examples = come_to(planned);
    if (examples >= total || planned == next) evaluate(examples);
    if (planned != due || examples >= total) continue;
    checkpoints_.write({.examples = examples,
                        .training_ns = training_clock_.elapsed_ns(),
                        .full_ns = now_ns() - run_begin_ns_},
                       *trainer_, record_);
  }
  check_replicas_agree(*trainer_, placement_);
  record_.status = record_.examples_to_target ? Status::Reached : Status::Missed;
}

void Race::advance_to(std::int64_t examples) {
  training_clock_.start();
  try {
    trainer_->advance_to(examples);
  } catch (...) {
    training_clock_.stop();  // a failed run has taken its time, too
    throw;
  }
  training_clock_.stop();
}

/// The evaluator counts steps of its own, so its errors need to say when it was.
EvaluationResult Race::judge() {
  try {
    return evaluator_->judge(*trainer_);
  } catch (const RunError& error) {
    const std::int64_t steps = trainer_->examples_seen() / placement_.recipe.global_batch;
    throw RunError(error.kind(), "in the evaluation after " + std::to_string(steps) +
                                     " steps of training, " + error.what());
  }
}

void Race::evaluate(std::int64_t examples) {
  const EvaluationResult judgement = judge();
  const std::int64_t trained_ns = training_clock_.elapsed_ns();
  Evaluation evaluation{.examples = trainer_->examples_seen(),
                        .epoch = static_cast<double>(examples) /
                                 static_cast<double>(placement_.recipe.train_examples),
                        .training_time_ns = trained_ns,
                        .full_time_ns = now_ns() - run_begin_ns_,
                        .result_time_ns = record_.data_weights_ns + trained_ns + judgement.took_ns,
                        .loss = judgement.loss,
                        .metric = judgement.metric,
                        .parameter_norm = judgement.parameter_norm};
  const bool reached = reaches(placement_.workload->metric, judgement.metric, record_.target.value);
  {
    const std::lock_guard lock(progress_mutex_);  // a report looks at these
    if (reached && !record_.examples_to_target) {
      record_.examples_to_target = evaluation.examples;
      record_.training_time_to_target_ns = evaluation.training_time_ns;
      record_.full_time_to_target_ns = evaluation.full_time_ns;
      record_.result_time_to_target_ns = evaluation.result_time_ns;
    }
    record_.evaluations.push_back(evaluation);
  }
  report(evaluation.examples, Occasion::Evaluation);
}

void Race::report(std::int64_t examples, Occasion occasion) {
  if (!hooks_.progress) return;
  const std::lock_guard lock(progress_mutex_);
  const std::int64_t total = placement_.recipe.total_examples;
  const std::int64_t batch = placement_.recipe.global_batch;
  const Evaluation& last = record_.evaluations.back();
  RaceProgress progress;
  progress.occasion = occasion;
  progress.step = examples / batch;
  progress.steps = (total + batch - 1) / batch;
  progress.training_loss = training_loss();
  progress.evaluation = {.step = last.examples / batch, .loss = last.loss, .metric = last.metric};
  progress.target = record_.target;
  if (record_.examples_to_target) progress.reached_at_step = *record_.examples_to_target / batch;
  progress.examples_per_s = training_clock_.examples_per_s(examples);
  if (examples > 0 && examples < total) {
    const double seconds = static_cast<double>(now_ns() - run_begin_ns_) * 1e-9;
    progress.seconds_left =
        seconds * static_cast<double>(total - examples) / static_cast<double>(examples);
  }
  hooks_.progress(progress);
}

/// Backup workers compute beside those whose shares make a batch.
std::optional<double> Race::training_loss() const {
  const std::optional<double> sum = trainer_->latest_loss();
  if (!sum) return std::nullopt;
  const auto replicas = static_cast<double>(placement_.options.replicas);
  return *sum * replicas / (replicas + static_cast<double>(backup_workers_of(placement_)));
}

void Race::tell(const std::string& line) {
  const std::lock_guard lock(progress_mutex_);
  if (hooks_.tell) hooks_.tell(line);
}

/// A rank may be lost even now: then the run has failed, and those that live report.
TrainingReport Race::last_report() {
  if (!trainer_) return {};
  try {
    return checkpoints_.whole(trainer_->report());
  } catch (const RunError& error) {
    fail(error);
    return checkpoints_.whole(trainer_->report());
  }
}

void Race::fail(const RunError& error) {
  record_.status = Status::Failed;
  record_.failure = Failure{.kind = std::string(to_string(error.kind())),
                            .text = error.what() + checkpoints_.advice()};
  record_.training_time_to_target_ns.reset();
  record_.full_time_to_target_ns.reset();
  record_.result_time_to_target_ns.reset();
  record_.examples_to_target.reset();
}

void Race::finish() {
  record_.training_ns = training_clock_.elapsed_ns();
  record_.full_ns = run_begin_ns_ == 0 ? 0 : now_ns() - run_begin_ns_;
  if (trainer_) record_.examples_per_s = training_clock_.examples_per_s(trainer_->examples_seen());
  const TrainingReport report = last_report();
  summarize(report, trainer_ ? trainer_->examples_seen() : 0, record_);
  for (WorkerRecord& worker : record_.workers) worker.host = trainer_->host_of(worker.rank);
  record_.memory = {.planned_bytes = report.planned_bytes,
                    .evaluation_planned_bytes = evaluator_->planned_bytes(),
                    .data_bytes = data_.train.bytes() + data_.test.bytes(),
                    .peak_rss_bytes = report.peak_rss_bytes};
  record_.machine = machine_facts();
  if (placement_.processes > 1 || placement_.by_nccl) {
    record_.machine.link = link_between(placement_);
  }
  record_.machine.cores_used = cores_used_;
  record_.software = software_facts();
  if (is_gpu(request_.device)) add_gpu_libraries(find_gpu_libraries(), record_.software);
  record_.environment = environment_facts();
}

}  // namespace

Record race(const RaceRequest& request, const RaceHooks& hooks) {
  return Race(request, hooks).run();
}

}  // namespace regatta
