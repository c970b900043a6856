// SPDX-License-Identifier: Apache-2.0
//
// MLPerf's log, CELL/result_N.txt for the N-th run of a cell. Each line is
//   :::MLLOG {"namespace": "", "time_ms": T, "event_type": E, "key": K, "value": V, "metadata": {}}
// with metadata that names this file and a line of it, as the library's does.
//
// A record has one absolute time, its timestamp, taken here for init_start. The others come from
// the run's own clocks: init_stop and run_start after set-up and warm-up, the rest on the full
// clock. Differences are therefore exact to the millisecond; an evaluation after a checkpoint
// includes the checkpoint's time. MLPerf's clock would start before any data is read; a record's
// starts after set-up. A block is the training between two evaluations; eval_accuracy is the
// target's metric: accuracy as a fraction of 1, or the loss. The log stops with run_stop,
// when the target is reached with status success, at the end of another run with status aborted,
// which MLPerf counts as infinite time. Left out: runs that failed before training began, and those
// of `independent`.
//
// The division is open. No run is of one of MLPerf's benchmarks: the checker's rules for all
// benchmarks (training 4.1 to 6.0) accept the log, except for the name in submission_benchmark.
// cache_clear is false: no cache is flushed. The additional fields of training 6.1 are present
// where they apply: no model has attention, no run has a configuration file, and no record has the
// optimizer's keys or, for a run in bf16, the type in which values travelled.
// export_checker_test.py passes logs to the checker itself.
// Source: https://github.com/mlcommons/logging, mllog/ and compliance_checker/training_6.0.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <source_location>

#include "harness/export/export.h"
#include "kernels/base/error.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta::exports {
namespace {

using Json = nlohmann::ordered_json;

/// Units: ms since 1970.
std::optional<std::int64_t> milliseconds_of(const std::string& timestamp) {
  int year, month, day, hour, minute, second;
  char end;
  if (std::sscanf(timestamp.c_str(), "%d-%d-%dT%d:%d:%d%c", &year, &month, &day, &hour, &minute,
                  &second, &end) != 7 ||
      end != 'Z') {
    return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(unsigned(month)),
                            std::chrono::day(unsigned(day))};
  if (!date.ok()) return std::nullopt;
  const auto time = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  return duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

class Log {
 public:
  explicit Log(std::int64_t begin_ms) : begin_ms_(begin_ms) {}

  /// Sets the time of all later lines, since the first line. Units: ns.
  void set_time(std::int64_t since_begin_ns) { since_begin_ns_ = since_begin_ns; }

  void event(const char* key, const Json& value, const Json& metadata = {},
             std::source_location where = std::source_location::current()) {
    add("POINT_IN_TIME", key, value, metadata, where);
  }
  void start(const char* key, const Json& metadata = {},
             std::source_location where = std::source_location::current()) {
    add("INTERVAL_START", key, nullptr, metadata, where);
  }
  void stop(const char* key, const Json& metadata = {},
            std::source_location where = std::source_location::current()) {
    add("INTERVAL_END", key, nullptr, metadata, where);
  }

  const std::string& text() const { return text_; }

 private:
  /// Spaces the line like Python's json module, which wrote all logs so far.
  void add(const char* type, const char* key, const Json& value, const Json& metadata,
           const std::source_location& where) {
    const std::filesystem::path file = std::filesystem::path(where.file_name()).filename();
    std::string more;
    for (const auto& [name, item] : metadata.items()) {
      more += fmt::format(", \"{}\": {}", name, item.dump());
    }
    text_ += fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", "
        "\"value\": {}, \"metadata\": {{\"file\": \"{}\", \"lineno\": {}{}}}}}\n",
        begin_ms_ + since_begin_ns_ / 1'000'000, type, key, value.dump(), file.string(),
        where.line(), more);
  }

  std::int64_t begin_ms_;
  std::int64_t since_begin_ns_ = 0;
  std::string text_;
};

/// The number of examples that a replica computes at once. Empty if shares differ, or if the
/// workload or its normalisation group, the unit of shares, has changed since the run.
std::optional<std::int64_t> share_of_replica(const record::Cell& cell,
                                             const workloads::DataSetSizes& sizes) {
  const std::int64_t replicas = cell.workers / std::max<std::int64_t>(cell.stages, 1);
  const bool possible = replicas > 0 && cell.global_batch > 0 && cell.global_batch <= sizes.train;
  if (!possible) return std::nullopt;
  if (replicas == 1) return cell.global_batch;
  try {
    const Step step = workloads::find_workload(cell.workload)
                          .training({.global_batch = cell.global_batch,
                                     .train_examples = sizes.train,
                                     .total_examples = sizes.train,
                                     .normalization_group = cell.normalization_group,
                                     .options = {.given = cell.options}});
    if (cell.global_batch % (replicas * step.normalization_group) != 0) return std::nullopt;
  } catch (const RunError&) {
    return std::nullopt;
  }
  return cell.global_batch / replicas;
}

/// The value of an option that is a count; 0 if the cell does not have it.
std::int64_t count_of(const record::Cell& cell, const Option& option) {
  const auto given = cell.options.find(option.name);
  const auto* const number =
      given == cell.options.end() ? nullptr : std::get_if<std::int64_t>(&given->second);
  return number == nullptr ? 0 : *number;
}

/// The number of shards of a layer. Where --workers or, in older records, --stages is the number of
/// shards, all of the model's parts are.
std::int64_t shards_of(const record::Cell& cell) {
  if (const std::int64_t given = count_of(cell, strategies::kShardCount); given > 0) return given;
  try {
    const auto strategies = strategies::find_strategies(cell.strategy);
    return any_has(strategies, strategies::WorkersAre::Shards) ? cell.stages : 1;
  } catch (const RunError&) {  // unknown to this program
    return 1;
  }
}

/// Whether shards have tokens instead of channels.
bool divides_tokens(const record::Cell& cell) {
  try {
    const auto strategies = strategies::find_strategies(cell.strategy);
    return std::any_of(strategies.begin(), strategies.end(), [](const strategies::Strategy* each) {
      return each->workers == strategies::WorkersAre::Shards &&
             each->trains == strategies::Trains::Sequences;
    });
  } catch (const RunError&) {
    return false;
  }
}

/// Logs the disclosures about numerics and parallelism that MLPerf requires.
void log_disclosure(Log& log, const record::Cell& cell) {
  log.event("lowest_numerical_precision_in_linear", cell.dtype == "bf16" ? "bfloat16" : "fp32");
  if (cell.dtype == "f32") log.event("lowest_numerical_precision_in_comm", "fp32");
  const std::int64_t shards = shards_of(cell);
  log.event("pipeline_parallelism", cell.stages / shards);
  log.event("tensor_parallelism", divides_tokens(cell) ? 1 : shards);
  log.event("context_parallelism", divides_tokens(cell) ? shards : 1);
  log.event("expert_parallelism", 1);
  log.event("gradient_accumulation_steps",
            std::max<std::int64_t>(1, count_of(cell, strategies::kMicrobatches)));
}

void log_facts(Log& log, const record::Record& record, const Submission& submission) {
  log.event("submission_benchmark", record.cell.workload);
  log.event("submission_org", submission.author);
  log.event("submission_division", "open");
  log.event("submission_platform", judge::machine_name(record.machine));
  log.event("cache_clear", false);
  log.start("init_start");
  log.event("seed", record.cell.seed);
  if (record.cell.global_batch > 0) log.event("global_batch_size", record.cell.global_batch);
  if (!record.cell.program) log_disclosure(log, record.cell);
  if (const auto sizes = workloads::data_set_sizes(record.cell.dataset)) {
    log.event("train_samples", sizes->train);
    log.event("eval_samples", sizes->test);
    if (const auto share = share_of_replica(record.cell, *sizes)) {
      log.event("micro_batch_size", *share);
    }
  }
}

/// The training between two consecutive evaluations.
struct Block {
  const record::Evaluation& before;
  const record::Evaluation& after;
};

void log_block(Log& log, const Block& block, const record::Record& record,
               std::int64_t run_start_ns) {
  const auto& [before, after] = block;
  const Json at{{"samples_count", after.examples}, {"epoch_num", after.epoch}};
  log.set_time(run_start_ns + before.full_time_ns);
  log.start("block_start", {{"samples_count", before.examples},
                            {"first_epoch_num", before.epoch},
                            {"epoch_count", after.epoch - before.epoch}});
  log.set_time(run_start_ns + before.full_time_ns + after.training_time_ns -
               before.training_time_ns);
  log.stop("block_stop", {{"samples_count", after.examples}, {"first_epoch_num", before.epoch}});
  log.start("eval_start", at);
  log.set_time(run_start_ns + after.full_time_ns);
  const double unit = record.target.metric == "accuracy" ? 100 : 1;
  log.event("eval_accuracy", after.metric / unit, at);
  log.stop("eval_stop", at);
}

std::string log_of(const record::Record& record, const Submission& submission,
                   std::int64_t begin_ms) {
  Log log(begin_ms);
  log_facts(log, record, submission);
  const std::int64_t run_start_ns = record.setup_ns + record.warmup_ns;
  log.set_time(run_start_ns);
  log.stop("init_stop");
  log.start("run_start");
  bool reached = false;
  std::vector<record::Evaluation> evaluations = record.evaluations;
  if (!evaluations.empty() && evaluations.front().examples > 0) {  // a program need not begin so
    evaluations.insert(evaluations.begin(), record::Evaluation{});
  }
  for (std::size_t i = 1; i < evaluations.size() && !reached; ++i) {
    const Block block{.before = evaluations[i - 1], .after = evaluations[i]};
    log_block(log, block, record, run_start_ns);
    reached = record.status == record::Status::Reached && record.examples_to_target &&
              block.after.examples >= *record.examples_to_target;
  }
  if (!reached) log.set_time(run_start_ns + record.full_ns);
  log.stop("run_stop", {{"status", reached ? "success" : "aborted"}});
  return log.text();
}

/// The reason why a run has no log; empty if it has one.
std::string why_no_log(const record::Record& record) {
  const std::string name = judge::cell_name(record);
  if (!judge::claims_target(record))
    return name + ": exchanges nothing, so it claims no time; left out";
  if (record.full_ns == 0) return name + ": failed before training began; a run is left out";
  if (!milliseconds_of(record.timestamp)) return name + ": a record without a time is left out";
  return "";
}

}  // namespace

Export export_mllog(std::span<const record::Record> records, const Submission& submission) {
  Export result;
  std::map<std::string, int> logs;  // by folder
  for (const record::Record& record : records) {
    if (std::string why = why_no_log(record); !why.empty()) {
      result.left_out.push_back(std::move(why));
      continue;
    }
    if (!workloads::data_set_sizes(record.cell.dataset)) {
      result.left_out.push_back(
          "train_samples and eval_samples are left out: this program does "
          "not know the size of the data set " +
          (record.cell.dataset.empty() ? "of " + record.cell.workload : record.cell.dataset));
    }
    const std::string folder = file_name_part(judge::cell_name(record));
    const std::string file = fmt::format("result_{}.txt", logs[folder]++);
    result.files.push_back(
        {.path = std::filesystem::path(folder) / file,
         .text = log_of(record, submission, *milliseconds_of(record.timestamp))});
  }
  return result;
}

}  // namespace regatta::exports
