// SPDX-License-Identifier: Apache-2.0
//
// `regatta compare BASE HEAD`: a verdict for each cell of two folders of records, on speed and on
// convergence.
//   speed        Compares seconds per example if the two sides were run apart. If they were run in
//                turn, compares the median step times of pairs of runs: other load on the machine
//                affects both runs of a pair alike, and a median ignores the few steps that were
//                hit harder.
//   convergence  Regressed if runs that must compute the same (loss_path.h) do not, even if the
//                losses improved, or if they consumed different examples. Otherwise compares runs
//                of equal seeds, because results differ more between seeds than between commits:
//                the examples to the target, or the last loss where no run reached the target.
// A verdict is read off the interval of the ratio (sample_ratio.h): unchanged if it lies within the
// change that matters; else regressed or improved if it excludes 1; else not enough data. The
// intervals are simultaneous: all tests that can reject share the level alpha (Bonferroni), as do
// all looks at growing data, if CompareOptions::looks has any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/judge/paired_ratio.h"

namespace regatta::judge {

enum class Verdict { Regressed, Improved, Unchanged, NotEnoughData, NotMeasured };
/// Returns the word that is printed: `regressed`, `improved`, ...
std::string_view to_string(Verdict verdict);

/// Whether the losses of runs of one seed must agree. Ignored is for a change that is meant to
/// alter the losses.
enum class LossPaths { BySeed, Ignored };

/// The order in which the runs of base and head were made.
enum class Taken {
  Apart,   ///< all of base, then all of head
  InTurn,  ///< seed by seed, the runs of base and head one right after the other
};

struct CompareOptions {
  double alpha = 0.05;              ///< probability that any test rejects wrongly
  double speed_effect = 0.03;       ///< a smaller relative difference in speed counts as unchanged
  double convergence_effect = 0.1;  ///< the same for examples to the target, or the last loss
  LossPaths losses = LossPaths::BySeed;
  Taken taken = Taken::Apart;
  /// Numbers of seeds, ascending, after which the data were or will be looked at; empty: a single
  /// look at all data. A row keeps the verdict of the first look that decides it, and needs no more
  /// runs. Each look spends its share of alpha (share_of_look).
  std::vector<std::size_t> looks = {};
};

/// One measure (speed or convergence) of one cell, compared between base and head. Ratios are head
/// / base of a cost (time per example or step, examples to the target, or the last loss), so above
/// 1 is worse.
struct Comparison {
  Verdict verdict = Verdict::NotMeasured;
  std::optional<double> ratio;            ///< see ratio_of() of sample_ratio.h
  std::optional<RatioInterval> interval;  ///< empty if losses departed, which chance does not do
  std::size_t seeds = 0;                  ///< with looks: number of seeds that decided it
  std::string note;                       ///< the step at which losses departed; may be empty
};

struct CellComparison {
  std::string name;
  std::string source;  ///< flags of `regatta run` without seed
  std::size_t base_runs = 0;
  std::size_t head_runs = 0;
  std::size_t base_failed = 0;
  std::size_t head_failed = 0;
  Comparison speed;
  Comparison convergence;
};

/// The runs of one side, base or head.
struct Measurements {
  std::vector<FinishedRun> runs;
};

/// Compares all cells of both sides, once for each of the looks that the data reach, in the
/// order of base; cells that only head has come last.
std::vector<CellComparison> compare(const Measurements& base, const Measurements& head,
                                    const CompareOptions& options);

/// Compares base and head in a single look at all data, which spends all of `options.alpha`.
std::vector<CellComparison> compare_once(const Measurements& base, const Measurements& head,
                                         const CompareOptions& options);

/// Returns a warning if the numbers of runs were chosen by different rules; empty if by one rule.
std::string note_on_stopping(const Measurements& base, const Measurements& head);

enum class CompareFormat { Text, Markdown, Json };

struct CompareRequest {
  std::string base;  ///< a folder of records
  std::string head;  ///< the same for head
  CompareFormat format = CompareFormat::Text;
  CompareOptions options;
};

/// Prints the verdicts. Returns 3 if a cell regressed or has failed runs that base does not have;
/// else 4 if a cell has not enough data or was not measured on both sides, or if there are no
/// cells; else 0. Throws: RunError(Usage) if a folder holds no records,
/// RunError(Data) if a file cannot be read.
int run_compare(const CompareRequest& request);

}  // namespace regatta::judge
