// SPDX-License-Identifier: Apache-2.0
//
// The parts of records that a matrix and a comparison need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

/// The part of a record that a matrix and a comparison need.
struct FinishedRun {
  std::vector<std::string> arguments;  ///< of `regatta run`, without the folders
  std::string cell;     ///< its name: every request but the seed; equal in equal cells
  std::string machine;  ///< the processor and its number of cores
  std::string strategy;
  std::string dtype;
  bool has_quorum = false;  ///< a step uses only the first gradients to arrive
  std::int64_t global_batch = 0;
  std::uint64_t seed = 0;
  std::int64_t recipe = 1;  ///< of the workload
  Checksums checksums;      ///< empty in records without them
  Status status = Status::Failed;
  bool is_cancelled = false;
  bool is_to_run_again = false;
  std::optional<double> seconds_to_target;  ///< of the training clock
  std::optional<double> examples_to_target;
  std::optional<double> metric;     ///< of the last evaluation
  std::optional<double> last_loss;  ///< of the last evaluation
  std::vector<LossSample> losses;   ///< of training
  std::vector<Evaluation> evaluations;
  double examples_per_s = 0;
  std::optional<double> median_step_s;
  double seconds = 0;  ///< total: set-up, warm-up, full clock
  std::string workload;
  std::string device;
  std::string dataset;
  std::string straggler;  ///< in the syntax of --straggler
  double setup_seconds = 0;
  double warmup_seconds = 0;      ///< mostly the first evaluation
  double training_seconds = 0;    ///< without evaluations
  double evaluation_seconds = 0;  ///< mean of one evaluation
  double examples = 0;            ///< trained on
};

struct FinishedRuns {
  std::vector<FinishedRun> runs;
  std::vector<std::string> warnings;  ///< one for each line that was left out, with the reason
};

/// Reads FOLDER/records.jsonl; empty if there is no such file.
/// Throws: RunError(Data) as records_in() does.
FinishedRuns finished_runs(const std::filesystem::path& folder);

}  // namespace regatta
