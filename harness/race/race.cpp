// SPDX-License-Identifier: Apache-2.0
#include "harness/race/race.h"

#include <algorithm>
#include <utility>

#include "harness/plan/device_name.h"
#include "harness/plan/layout.h"
#include "harness/race/race_run.h"
#include "harness/race/simulated_race.h"
#include "harness/race/summary.h"
#include "harness/run/ticker.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/slurm_end.h"
#include "kernels/runtime/gpu_facts.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::race {

record::Record Race::run() {
  try {
    train();
  } catch (...) {
    fail(system::current_run_error());
  }
  finish();
  if (hooks_.ended) hooks_.ended(record_);
  if (record_.status != record::Status::Failed) checkpoints_.remove();
  if (trainer_) trace_.write(*trainer_);  // last, because a full disk must not cost the record
  return std::move(record_);
}

/// The examples seen after advancing to `planned`. With backup workers steps have uneven sizes, so
/// one may end beyond `planned`.
std::int64_t Race::examples_after(std::int64_t planned) const {
  if (!placement_.facts.has_quorum) return planned;
  return std::max(planned, trainer_->examples_seen());
}

void Race::train() {
  if (early_failure_) throw RunError(*early_failure_);
  const std::int64_t total = placement_.recipe.total_examples;
  const checkpoint::RunPosition begin = checkpoints_.begin();
  training_clock_.begin_at(begin.training_ns);
  const std::int64_t warmup_begin = now_ns();
  const run::EvaluationResult first = judge();  // also warms up the evaluator
  record_.warmup_ns = now_ns() - warmup_begin;
  if (virtual_ == nullptr) sent_before_ = system::bytes_sent_by_interfaces();
  run_begin_ns_ = now_ns() - begin.full_ns;
  if (begin.examples == 0) {
    record_.evaluations.push_back(
        {.loss = first.loss, .metric = first.metric, .parameter_norm = first.parameter_norm});
  }
  report(begin.examples, Occasion::Evaluation);
  const run::Ticker ticker([this, is_told = false]() mutable {
    if (system::SlurmEndNotice::has_come() && !std::exchange(is_told, true)) {
      trainer_->interrupt(*system::slurm_end());
    }
    report(trainer_->examples_seen(), Occasion::Tick);
  });
  for (std::int64_t examples = begin.examples; examples < total;) {
    const std::int64_t due = checkpoints_.next_after(examples, placement_.recipe.global_batch);
    const std::int64_t next =
        plan::next_evaluation(evaluation_points_, record_.target, record_.evaluations, examples);
    const std::int64_t planned = std::min(next, due);
    advance_to(planned);
    examples = examples_after(planned);
    if (examples >= total || planned == next) evaluate(examples);
    if (planned != due || examples >= total) continue;
    checkpoints_.write(
        {.examples = examples, .training_ns = training_clock_.elapsed_ns(), .full_ns = full_ns()},
        *trainer_, record_);
  }
  check_replicas_agree(*trainer_, placement_);
  record_.status = record_.examples_to_target ? record::Status::Reached : record::Status::Missed;
}

void Race::advance_to(std::int64_t examples) {
  if (virtual_ != nullptr) {
    trainer_->advance_to(examples);
    return training_clock_.begin_at(virtual_->clock_ns());
  }
  training_clock_.start();
  try {
    trainer_->advance_to(examples);
  } catch (...) {
    training_clock_.stop();  // a failed run has taken time, too
    throw;
  }
  training_clock_.stop();
}

/// Time with evaluations included; in virtual time these take none.
std::int64_t Race::full_ns() const {
  if (virtual_ != nullptr) return training_clock_.elapsed_ns();
  return now_ns() - run_begin_ns_;
}

/// Evaluates; errors get the training step, because the evaluator counts steps of its own.
run::EvaluationResult Race::judge() {
  try {
    return evaluator_->judge(*trainer_);
  } catch (const RunError& error) {
    const std::int64_t steps = trainer_->examples_seen() / placement_.recipe.global_batch;
    throw RunError(error.kind(), "in the evaluation after " + std::to_string(steps) +
                                     " steps of training, " + error.what());
  }
}

void Race::evaluate(std::int64_t examples) {
  const run::EvaluationResult judgement = judge();
  const std::int64_t trained_ns = training_clock_.elapsed_ns();
  record::Evaluation evaluation{
      .examples = trainer_->examples_seen(),
      .epoch =
          static_cast<double>(examples) / static_cast<double>(placement_.recipe.train_examples),
      .training_time_ns = trained_ns,
      .full_time_ns = full_ns(),
      .result_time_ns = virtual_ != nullptr
                            ? trained_ns
                            : record_.data_weights_ns + trained_ns + judgement.took_ns,
      .loss = judgement.loss,
      .metric = judgement.metric,
      .parameter_norm = judgement.parameter_norm};
  const bool reached =
      workloads::reaches(placement_.workload->metric, judgement.metric, record_.target.value);
  {
    const std::lock_guard lock(progress_mutex_);  // report() reads these
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
  const record::Evaluation& last = record_.evaluations.back();
  RaceProgress progress;
  progress.occasion = occasion;
  progress.step = examples / batch;
  progress.steps = (total + batch - 1) / batch;
  progress.training_loss = training_loss();
  progress.evaluation = {.step = last.examples / batch,
                         .loss = last.loss,
                         .metric = last.metric,
                         .bits_per_byte = bits_per_byte(
                             workloads::sequences_of(placement_.recipe.options), last.loss)};
  progress.target = record_.target;
  if (record_.examples_to_target) progress.reached_at_step = *record_.examples_to_target / batch;
  progress.examples_per_s =
      training_clock_.examples_per_s(virtual_ == nullptr ? examples : last.examples);
  progress.tokens_per_s = tokens_per_s(progress.examples_per_s);
  if (examples > 0 && examples < total) {
    const double seconds = static_cast<double>(now_ns() - run_begin_ns_) * 1e-9;
    progress.seconds_left =
        seconds * static_cast<double>(total - examples) / static_cast<double>(examples);
  }
  hooks_.progress(progress);
}

/// The latest loss, scaled to the workers whose shares make a batch: backup workers compute, too.
std::optional<double> Race::training_loss() const {
  const std::optional<double> sum = trainer_->latest_loss();
  if (!sum) return std::nullopt;
  const auto replicas = static_cast<double>(placement_.options.replicas);
  return *sum * replicas / (replicas + static_cast<double>(plan::backup_workers_of(placement_)));
}

void Race::tell(const std::string& line) {
  const std::lock_guard lock(progress_mutex_);
  if (hooks_.tell) hooks_.tell(line);
}

/// The trainer's report. A rank may be lost even now: then the run has failed, and the ranks that
/// live report.
run::TrainingReport Race::last_report() {
  if (!trainer_) return {};
  try {
    return checkpoints_.whole(trainer_->report());
  } catch (const RunError& error) {
    fail(error);
    return checkpoints_.whole(trainer_->report());
  }
}

void Race::fail(const RunError& error) {
  record_.status = record::Status::Failed;
  record_.failure = record::Failure{.kind = std::string(to_string(error.kind())),
                                    .text = error.what() + checkpoints_.advice()};
  record_.training_time_to_target_ns.reset();
  record_.full_time_to_target_ns.reset();
  record_.result_time_to_target_ns.reset();
  record_.examples_to_target.reset();
}

std::optional<double> Race::tokens_per_s(double examples_per_s) const {
  if (!record_.tokens_per_example) return std::nullopt;
  return examples_per_s * static_cast<double>(*record_.tokens_per_example);
}

/// Uses the final numbers of cores and GPUs.
std::optional<record::UtilizationRecord> Race::utilization() const {
  if (!peak_ || record_.examples_per_s <= 0) return std::nullopt;
  const double devices =
      record_.cell.gpus ? static_cast<double>(*record_.cell.gpus)
                        : static_cast<double>(cores_used_) / static_cast<double>(cores_.size());
  const double peak = peak_->flops_per_s * devices;
  const double each = record_.model_flops_per_step / static_cast<double>(record_.cell.global_batch);
  const double mfu = each * record_.examples_per_s / peak;
  // The peak is wrong: other programs had the cores while it was measured.
  if (mfu > 1 && record_.cell.winograd == "off") return std::nullopt;
  return record::UtilizationRecord{.mfu = mfu, .peak_flops_per_s = peak, .peak_of = peak_->of};
}

void Race::finish() {
  record_.training_ns = training_clock_.elapsed_ns();
  record_.full_ns = run_begin_ns_ == 0 ? 0 : full_ns();
  if (const auto sent = system::bytes_sent_by_interfaces(); sent && sent_before_) {
    record_.interface_bytes = *sent - *sent_before_;
  }
  if (trainer_) record_.examples_per_s = training_clock_.examples_per_s(trainer_->examples_seen());
  record_.tokens_per_s = tokens_per_s(record_.examples_per_s);
  if (peak_ && !placement_.on_gpus && record_.examples_per_s > 0) {
    peak_ = run::measured_peak(placement_.recipe.element, cores_);  // again, as others may have run
  }
  record_.utilization = utilization();
  if (!record_.evaluations.empty()) {
    record_.bits_per_byte = bits_per_byte(workloads::sequences_of(placement_.recipe.options),
                                          record_.evaluations.back().loss);
  }
  const run::TrainingReport report = last_report();
  summarize(report, trainer_ ? trainer_->examples_seen() : 0, record_);
  for (record::WorkerRecord& worker : record_.workers) worker.host = trainer_->host_of(worker.rank);
  record_.memory = {.planned_bytes = report.planned_bytes,
                    .evaluation_planned_bytes = evaluator_->planned_bytes(),
                    .data_bytes = data_.train.bytes() + data_.test.bytes(),
                    .peak_rss_bytes = report.peak_rss_bytes};
  record_.machine = system::machine_facts();
  if (virtual_ != nullptr) {
    record_.simulated =
        simulated_facts(virtual_->cell(), simulate::VirtualMode::Train, virtual_->events());
  } else if (placement_.processes > 1 || placement_.by_nccl) {
    record_.machine.link = plan::link_between(placement_);
  }
  record_.machine.cores_used = cores_used_;
  record_.software = system::software_facts();
  if (plan::is_gpu(request_.device))
    system::add_gpu_libraries(find_gpu_libraries(), record_.software);
  record_.environment = system::environment_facts();
  if (record_.load) record_.load->after = system::load_of_others().value_or(0);
}

record::Record race(const plan::RaceRequest& request, const RaceHooks& hooks) {
  return Race(request, hooks).run();
}

}  // namespace regatta::race
