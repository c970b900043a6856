// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/finished_runs.h"

#include <algorithm>
#include <set>

#include "harness/judge/cell_identity.h"
#include "harness/record/record_reader.h"
#include "harness/system/command_text.h"

namespace regatta::judge {
namespace {

/// The arguments of `regatta run ...`; empty for another command.
std::vector<std::string> arguments_of(const std::string& command) {
  const std::vector<std::string> all = system::words_of(command);
  if (all.size() < 2 || all[1] != "run") return {};
  std::vector<std::string> kept;
  for (std::size_t i = 2; i < all.size(); ++i) {
    const std::string flag = all[i].substr(0, all[i].find('='));
    if (flag != "--out" && flag != "--data-dir" && flag != "--round") {
      kept.push_back(all[i]);
    } else if (flag == all[i]) {
      ++i;
    }
  }
  return kept;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// The number of cores that the run used on each of its hosts.
std::int64_t cores_of(const record::Record& record) {
  std::set<std::string> hosts;
  for (const record::WorkerRecord& worker : record.workers) hosts.insert(worker.host);
  return record.machine.cores_used / std::max<std::int64_t>(std::ssize(hosts), 1);
}

/// The largest number of cores that a run on the machine could use.
std::int64_t most_cores_of(const system::MachineFacts& machine) {
  const auto quota = static_cast<std::int64_t>(
      machine.cpu_quota.value_or(static_cast<double>(machine.cores_available)));
  return std::clamp<std::int64_t>(quota, 1, std::max<std::int64_t>(machine.cores_available, 1));
}

}  // namespace

std::optional<FinishedRun> finished_run(record::Record record) {
  FinishedRun run{.arguments = arguments_of(record.command),
                  .cell = record.cell,
                  .name = cell_name(record),
                  .key = request_key(record),
                  .machine = machine_name(record.machine),
                  .cores = cores_of(record),
                  .has_all_cores = cores_of(record) >= most_cores_of(record.machine),
                  .has_quorum = record.step_examples.has_value(),
                  .has_round = record.round.has_value(),
                  .checksums = record.checksums,
                  .status = record.status,
                  .is_cancelled = record::is_cancelled(record),
                  .is_to_run_again = record::is_to_run_again(record),
                  .losses = std::move(record.losses),
                  .examples_per_s = record.examples_per_s,
                  .tokens_per_s = record.tokens_per_s,
                  .seconds = seconds(record.setup_ns + record.warmup_ns + record.full_ns)};
  if (run.arguments.empty()) return std::nullopt;
  if (record.training_time_to_target_ns) {
    run.seconds_to_target = seconds(*record.training_time_to_target_ns);
  }
  if (record.examples_to_target) {
    run.examples_to_target = static_cast<double>(*record.examples_to_target);
  }
  if (!record.evaluations.empty()) {
    run.metric = record.evaluations.back().metric;
    run.last_loss = record.evaluations.back().loss;
  }
  run.evaluations = std::move(record.evaluations);
  if (record.step_time_ns.count > 0) run.median_step_s = seconds(record.step_time_ns.p50);
  return run;
}

FinishedRuns finished_runs(const std::filesystem::path& folder) {
  record::ReadRecords read = record::records_in(folder);
  FinishedRuns result{.runs = {}, .warnings = std::move(read.warnings)};
  for (record::Record& record : read.records) {
    const std::string command = record.command;
    if (auto run = finished_run(std::move(record))) {
      result.runs.push_back(std::move(*run));
    } else {
      result.warnings.push_back((folder / "records.jsonl").string() + ": '" + command +
                                "' is no command of regatta run; its record is left out");
    }
  }
  return result;
}

}  // namespace regatta::judge
