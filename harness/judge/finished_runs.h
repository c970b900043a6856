// SPDX-License-Identifier: Apache-2.0
//
// What records say about runs, as much as a matrix and a comparison need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

/// As much of a record as a matrix and a comparison need.
struct FinishedRun {
  std::vector<std::string> arguments;  ///< of `regatta run`, less the folders
  std::string cell;     ///< its name: all that was asked for but the seed, equal in equal cells
  std::string machine;  ///< its processor and how many cores of it
  std::string strategy;
  std::string dtype;
  bool has_quorum = false;  ///< its steps are of the gradients that came first
  std::int64_t global_batch = 0;
  std::uint64_t seed = 0;
  std::int64_t recipe = 1;  ///< number of the workload's
  Checksums checksums;      ///< empty in records that lack them
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
  double seconds = 0;  ///< of everything: set-up, warm-up, full clock
  std::string workload;
  std::string device;
  std::string dataset;
  std::string straggler;  ///< as --straggler takes it
  double setup_seconds = 0;
  double warmup_seconds = 0;      ///< above all, the first evaluation
  double training_seconds = 0;    ///< without evaluations
  double evaluation_seconds = 0;  ///< of each one, the mean
  double examples = 0;            ///< trained on
};

struct FinishedRuns {
  std::vector<FinishedRun> runs;
  std::vector<std::string> warnings;  ///< one for each line that is left out, and why
};

/// What FOLDER/records.jsonl holds; nothing where there is no such file.
/// Throws: RunError(Data) as records_in() does.
FinishedRuns finished_runs(const std::filesystem::path& folder);

}  // namespace regatta
