// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of records that `regatta matrix` and `regatta compare` need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta::judge {

/// The part of a record that `regatta matrix` and `regatta compare` need.
struct FinishedRun {
  std::vector<std::string> arguments;  ///< arguments of `regatta run`, without the folders
  record::Cell cell = {};
  std::string name;             ///< cell_name() of the record
  std::string key;              ///< request_key() of the record
  std::string machine;          ///< machine_name() of the record
  std::int64_t cores = 0;       ///< number of cores that it used on each host
  bool has_all_cores = true;    ///< these are all that it found
  bool has_quorum = false;      ///< a step uses only the first gradients to arrive
  bool has_round = false;       ///< its matrix raced until it was decided (`--decide`)
  record::Checksums checksums;  ///< empty in records without them
  record::Status status = record::Status::Failed;
  bool is_cancelled = false;
  bool is_to_run_again = false;
  std::optional<double> seconds_to_target;  ///< on the training clock
  std::optional<double> examples_to_target;
  std::optional<double> metric;            ///< at the last evaluation
  std::optional<double> last_loss;         ///< at the last evaluation
  std::vector<record::LossSample> losses;  ///< samples of the training loss
  std::vector<record::Evaluation> evaluations;
  double examples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::optional<double> median_step_s;
  double seconds = 0;  ///< the whole run: set-up, warm-up and full clock
};

struct FinishedRuns {
  std::vector<FinishedRun> runs;
  std::vector<std::string> warnings;  ///< one per line that was left out, with the reason
};

/// Returns the parts of a record; empty if its command is not `regatta run`.
std::optional<FinishedRun> finished_run(record::Record record);

/// Reads the finished runs from the records in `folder`; empty if there are none.
/// Throws: RunError(Data), like records_in().
FinishedRuns finished_runs(const std::filesystem::path& folder);

}  // namespace regatta::judge
