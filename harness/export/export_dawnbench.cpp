// SPDX-License-Identifier: Apache-2.0
//
// Entries for DAWNBench's CIFAR-10 training, one a run: CIFAR10/train/NAME.json and NAME.tsv, where
// NAME is author_model_hardware_framework. The JSON has the seven required fields, the known ones
// of the optional fields, and commitHash, as reviewers asked for. The TSV has a row for each
// evaluation after the first step: epoch, hours of the training clock (DAWNBench leaves validation
// out) and top1Accuracy in percent; its readers take the first row at 94 % or above.
//
// A run that reached 94 % is an entry, whatever its own target was; missed and failed runs, runs on
// other data sets and runs of `independent` are left out. timestamp is the day of the run, because
// the day of a submission is not known; seeds, strategy and command are in misc.
// Source: https://github.com/stanford-futuredata/dawn-bench-entries, README.md and tests/
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/export/export.h"
#include "kernels/base/error.h"

namespace regatta::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTopOneAccuracy = 94;  // percent; set by the task
constexpr double kHour = 3600e9;        // ns

bool reaches_accuracy(const record::Record& record) {
  return std::any_of(record.evaluations.begin(), record.evaluations.end(), [](const auto& each) {
    return each.examples > 0 && each.metric >= kTopOneAccuracy;
  });
}

/// The reason why a run is no entry; empty if it is one.
std::string why_no_entry(const record::Record& record) {
  if (record.cell.dataset != "cifar10") {
    return fmt::format("a run on '{}' is left out: DAWNBench has no such task",
                       record.cell.dataset);
  }
  if (!judge::claims_target(record))
    return "a run of independent is left out: it claims no accuracy";
  if (record.status == record::Status::Failed) return "a failed run is left out";
  if (record.target.metric != "accuracy" || !reaches_accuracy(record)) {
    return fmt::format("a run of {} is left out: it did not reach {} % accuracy",
                       record.cell.workload, kTopOneAccuracy);
  }
  if (record.timestamp.size() < 10) return "a run is left out: its record has no timestamp";
  return "";
}

Json json_of(const record::Record& record, const Submission& submission) {
  const Json whole = Json::parse(record::to_json_line(record));
  Json entry{{"version", "v1.0"},
             {"author", submission.author},
             {"authorEmail", submission.author_email},
             {"framework", record.program ? record.program->framework : "Regatta"},
             {"model", record.cell.workload},
             {"hardware", judge::machine_name(record.machine)}};
  if (submission.cost_per_hour) entry["costPerHour"] = *submission.cost_per_hour;
  entry["timestamp"] = record.timestamp.substr(0, 10);
  if (record.software.git_commit.size() == 40) entry["commitHash"] = record.software.git_commit;
  entry["misc"] = {{"run_id", record.run_id},
                   {"cell", whole["cell"]},
                   {"command", record.command},
                   {"software", whole["software"]}};
  return entry;
}

std::string tsv_of(const record::Record& record) {
  std::string text = "epoch\thours\ttop1Accuracy\n";
  for (const record::Evaluation& each : record.evaluations) {
    if (each.examples == 0) continue;
    text += fmt::format("{}\t{}\t{}\n", each.epoch,
                        static_cast<double>(each.training_time_ns) / kHour, each.metric);
  }
  return text;
}

/// Returns author_model_hardware_framework. The model holds strategy and seed, so that runs differ.
std::string name_of(const record::Record& record, const Submission& submission) {
  const std::string model = fmt::format("{}, seed {}", judge::cell_name(record), record.cell.seed);
  return fmt::format("{}_{}_{}_regatta", file_name_part(submission.author), file_name_part(model),
                     file_name_part(judge::machine_name(record.machine)));
}

}  // namespace

Export export_dawnbench(std::span<const record::Record> records, const Submission& submission) {
  if (file_name_part(submission.author).empty()) {
    throw RunError(ErrorKind::Usage, "--author is a part of file names; it needs a letter");
  }
  Export result;
  std::map<std::string, int> uses;  // the same seed may have run twice
  for (const record::Record& record : records) {
    if (std::string why = why_no_entry(record); !why.empty()) {
      result.left_out.push_back(std::move(why));
      continue;
    }
    std::string name = name_of(record, submission);
    if (const int use = ++uses[name]; use > 1) name += fmt::format("-run{}", use);
    const std::filesystem::path folder = "CIFAR10/train";
    result.files.push_back(
        {.path = folder / (name + ".json"), .text = json_of(record, submission).dump(4) + "\n"});
    result.files.push_back({.path = folder / (name + ".tsv"), .text = tsv_of(record)});
  }
  return result;
}

}  // namespace regatta::exports
