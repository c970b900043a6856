// SPDX-License-Identifier: Apache-2.0
//
// Made-up runs for tests of `regatta compare`.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "harness/judge/compare.h"

namespace regatta::judge {

/// Runs of one cell, with seeds from 1; 0 examples stand for a run that missed its target.
inline std::vector<FinishedRun> timed_runs(const std::string& cell,
                                           const std::vector<double>& seconds_per_example,
                                           const std::vector<double>& examples) {
  std::vector<FinishedRun> result;
  for (std::size_t i = 0; i < seconds_per_example.size(); ++i) {
    FinishedRun run{.name = cell, .status = record::Status::Missed};
    run.cell.seed = i + 1;
    run.examples_per_s = 1 / seconds_per_example[i];
    if (examples[i] > 0) {
      run.status = record::Status::Reached;
      run.examples_to_target = examples[i];
    }
    result.push_back(run);
  }
  return result;
}

inline const std::vector<double> kTimes = {1.00, 1.01, 1.02, 0.99, 1.005, 1.015, 0.995, 1.0};
inline const std::vector<double> kExamples = {100, 110, 120, 105, 115, 108, 112, 118};

inline std::vector<double> times(double factor) {
  std::vector<double> result = kTimes;
  for (double& each : result) each = each * factor + 1e-4;
  return result;
}

inline CellComparison compared(const std::vector<FinishedRun>& base,
                               const std::vector<FinishedRun>& head) {
  const std::vector<CellComparison> cells = compare({.runs = base}, {.runs = head}, {});
  EXPECT_EQ(cells.size(), 1U);
  return cells.front();
}

}  // namespace regatta::judge
