// SPDX-License-Identifier: Apache-2.0
//
// What the records of a folder say about runs of a matrix: which are done, how long they took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/record.h"

namespace regatta {

/// As much of a record as a matrix shows.
struct FinishedRun {
  std::vector<std::string> arguments;  ///< of `regatta run`, less the folders
  Status status = Status::Failed;
  std::optional<double> seconds_to_target;  ///< of the training clock
  std::optional<double> metric;             ///< of the last evaluation
  double examples_per_s = 0;
  double seconds = 0;  ///< of everything: set-up, warm-up, full clock
};

/// All whole records of FOLDER/records.jsonl that a `regatta run` has made; a line that is none,
/// such as a cut one, is left out. Empty where there is no such file.
std::vector<FinishedRun> finished_runs(const std::filesystem::path& folder);

}  // namespace regatta
