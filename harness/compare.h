// SPDX-License-Identifier: Apache-2.0
//
// `regatta compare BASE HEAD`: a verdict for each cell of two folders of records, on speed (seconds
// per example) and on convergence (examples to the target, where a run that missed it counts as
// infinite). Mann-Whitney, Holm's correction over all tests of the comparison, and an effect that
// is large enough to matter. What a few runs cannot tell is inconclusive, never unchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/finished_runs.h"

namespace regatta {

enum class Verdict { Regressed, Improved, Unchanged, Inconclusive, NotMeasured };
/// `regressed`, `improved`, ...
std::string_view to_string(Verdict verdict);

struct CompareOptions {
  double alpha = 0.05;              ///< of all tests together
  double speed_effect = 0.03;       ///< slower or faster by less is unchanged
  double convergence_effect = 0.1;  ///< likewise of examples to the target
};

/// One measure of one cell. Ratios and slowdowns are of head to base; above 1 is worse.
struct Comparison {
  Verdict verdict = Verdict::NotMeasured;
  std::optional<double> ratio;       ///< of medians
  double p = 1;                      ///< corrected
  std::optional<double> detectable;  ///< smallest slowdown that these runs could have shown
};

struct CellComparison {
  std::string name;
  std::size_t base_runs = 0;
  std::size_t head_runs = 0;
  std::size_t base_failed = 0;
  std::size_t head_failed = 0;
  Comparison speed;
  Comparison convergence;
};

/// In the order of base, then what only head has.
std::vector<CellComparison> compare(const std::vector<FinishedRun>& base,
                                    const std::vector<FinishedRun>& head,
                                    const CompareOptions& options);

enum class CompareFormat { Text, Markdown, Json };

struct CompareRequest {
  std::string base;
  std::string head;
  CompareFormat format = CompareFormat::Text;
  CompareOptions options;
};

/// Prints the verdicts. Returns 3 when a cell regressed or has failed runs that base has not, else
/// 4 when one is inconclusive or not measured on both sides or there is none, else 0. Throws:
/// RunError(Usage) when a folder has no records.
int run_compare(const CompareRequest& request);

}  // namespace regatta
