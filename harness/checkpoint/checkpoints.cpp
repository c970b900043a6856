// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "harness/run/merge_reports.h"
#include "harness/system/input_file.h"
#include "harness/system/machine.h"
#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::checkpoint {
namespace {

constexpr std::int64_t kNeverNext = std::numeric_limits<std::int64_t>::max();

/// Adds the values on which results and times depend, besides those on which ranks agree.
void add_lines(const record::Record& record, plan::Fingerprint& fingerprint) {
  std::set<std::string> names;
  for (const auto& [name, value] : fingerprint) names.insert(name);
  for (const auto& [name, value] : record::lines_of(record.cell)) {
    if (!names.contains(name)) fingerprint.emplace_back(name, value);
  }
  fingerprint.emplace_back("target", fmt::format("{:g}", record.target.value));
  fingerprint.emplace_back("cpu", system::machine_facts().cpu);
}

}  // namespace

Checkpoints::Checkpoints(const plan::RaceRequest& request) : request_(request) {
  if (!request_.resume.empty()) former_ = read_checkpoint(request_.resume);
  path_ = request_.resume;
}

RunPosition Checkpoints::begin() const {
  if (!former_) return {};
  return {.examples = former_->examples,
          .training_ns = former_->training_ns,
          .full_ns = former_->full_ns};
}

std::optional<record::Resumed> Checkpoints::resumed() const {
  if (!former_) return std::nullopt;
  return record::Resumed{
      .run_id = former_->run_id, .from = request_.resume, .examples = former_->examples};
}

void Checkpoints::identify(plan::Fingerprint asked_for, const record::Record& record) {
  fingerprint_ = std::move(asked_for);
  add_lines(record, fingerprint_);
  run_id_ = former_ ? former_->run_id : record.run_id;
  command_ = former_ ? former_->command : record.command;
  if (!former_) return;
  if (const std::string differs = plan::difference(fingerprint_, former_->fingerprint);
      !differs.empty()) {
    throw RunError(ErrorKind::Usage, "--resume " + request_.resume +
                                         ": the checkpoint is of another run than the one asked "
                                         "for: " +
                                         differs + "; its own was: " + command_);
  }
}

void Checkpoints::restore(run::Trainer& trainer, record::Record& record) {
  if (!former_) return;
  std::vector<run::VariableCopy> variables = trainer.variables(run::Copies::All);
  bool fits = variables.size() == former_->variables.size();
  for (std::size_t i = 0; fits && i < variables.size(); ++i) {
    const SavedVariable& saved = former_->variables[i];
    const Variable& variable = variables[i].variable;
    fits = saved.name == variable.name && saved.place == to_string(variable.place) &&
           std::ssize(saved.memory) == variable.type.bytes();
    variables[i].tensor.data = const_cast<char*>(saved.memory.data());  // the trainer only reads it
    variables[i].version = saved.version;
  }
  if (!fits) {
    throw RunError(ErrorKind::Data, "--resume " + request_.resume +
                                        ": its variables are not this run's; fix: start again "
                                        "without --resume");
  }
  trainer.begin_at(variables, positions_of(*former_));
  record.checkpoints = former_->checkpoints;
  record.evaluations = former_->evaluations;
  record.training_time_to_target_ns = former_->training_time_to_target_ns;
  record.full_time_to_target_ns = former_->full_time_to_target_ns;
  record.result_time_to_target_ns = former_->result_time_to_target_ns;
  record.examples_to_target = former_->examples_to_target;
}

std::int64_t Checkpoints::next_after(std::int64_t examples, std::int64_t global_batch) const {
  if (!request_.checkpoint_every) return kNeverNext;
  const std::int64_t steps = examples / global_batch;
  if (*request_.checkpoint_every > kNeverNext / global_batch - steps) return kNeverNext;
  return (steps / *request_.checkpoint_every + 1) * *request_.checkpoint_every * global_batch;
}

void Checkpoints::write(const RunPosition& position, run::Trainer& trainer,
                        record::Record& record) {
  const std::int64_t begin_ns = now_ns();
  ++record.checkpoints.written;
  Checkpoint checkpoint{.run_id = run_id_,
                        .command = command_,
                        .fingerprint = fingerprint_,
                        .examples = position.examples,
                        .training_ns = position.training_ns,
                        .full_ns = position.full_ns,
                        .checkpoints = record.checkpoints,
                        .evaluations = record.evaluations,
                        .training_time_to_target_ns = record.training_time_to_target_ns,
                        .full_time_to_target_ns = record.full_time_to_target_ns,
                        .result_time_to_target_ns = record.result_time_to_target_ns,
                        .examples_to_target = record.examples_to_target,
                        .report = whole(trainer.report()),
                        .variables = {},
                        .file = {}};
  for (const run::VariableCopy& copy : trainer.variables(run::Copies::All)) {
    checkpoint.variables.push_back(
        {.name = copy.variable.name,
         .place = to_string(copy.variable.place),
         .version = copy.version,
         .memory = {copy.tensor.as<char>(), static_cast<std::size_t>(copy.tensor.type.bytes())}});
  }
  folder_->write(checkpoint);
  record.checkpoints.time_ns += now_ns() - begin_ns;
}

void Checkpoints::write_first(run::Trainer& trainer, record::Record& record) {
  if (!wanted()) return;
  const std::filesystem::path folder = std::filesystem::path(request_.checkpoints) / run_id_;
  if (request_.checkpoint_every || system::is_there(folder)) {
    folder_ = std::make_unique<CheckpointFolder>(folder);
  }
  if (request_.checkpoint_every) {
    try {
      write(begin(), trainer, record);
      folder_->require_room();
    } catch (const RunError&) {
      if (!former_) folder_->remove();
      throw;
    }
    path_ = folder.string();
  }
  message_ = std::make_unique<system::InterruptMessage>("the run is interrupted" + advice());
}

run::TrainingReport Checkpoints::whole(run::TrainingReport later) const {
  if (!former_) return later;
  return run::joined(former_->report, std::move(later));
}

std::string Checkpoints::advice() const {
  if (path_.empty()) return "";
  return "; to go on from the last checkpoint, give the same flags and --resume " + path_;
}

void Checkpoints::remove() {
  message_.reset();
  if (folder_) folder_->remove();
}

}  // namespace regatta::checkpoint
