// SPDX-License-Identifier: Apache-2.0
//
// `regatta compare BASE HEAD`: a verdict for each cell of two folders of records, on speed and on
// convergence, and for each benchmark in them.
//   speed        Seconds per example for runs that were made apart. For runs made in turn, median
//                steps of pairs: other load on the machine affects both runs of a pair alike, and a
//                median step ignores the few steps that were hit harder. The repetitions of a
//                benchmark that was run in turn are paired likewise.
//   convergence  Regressed if runs that must compute the same (loss_path.h) do not, whichever way
//                their losses went, or if runs consumed other examples. Otherwise pairs of equal
//                seeds are compared, because seeds differ more than commits: in examples to the
//                target, or in the last loss where no run reached it.
// The test is Student's t of the logarithms with spreads that are borrowed among the cells
// (paired_ratio.h). Where a run never reached the target, ranks are compared: Wilcoxon's for pairs,
// else Mann-Whitney. Verdicts need Holm's correction over all tests that can reject, and an effect
// that is large enough to matter. Too few runs give *not enough data*, never unchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/benchmark_results.h"
#include "harness/judge/finished_runs.h"

namespace regatta {

enum class Verdict { Regressed, Improved, Unchanged, NotEnoughData, NotMeasured };
/// Returns the printed word: `regressed`, `improved`, ...
std::string_view to_string(Verdict verdict);

/// Whether losses are compared seed by seed; Ignored where a change is meant to alter them.
enum class LossPaths { BySeed, Ignored };

/// The order in which the runs of the two sides were made.
enum class Taken {
  Apart,
  InTurn,  ///< seed by seed, one right after the other
};

struct CompareOptions {
  double alpha = 0.05;              ///< error of all tests together
  double speed_effect = 0.03;       ///< a smaller difference in speed is unchanged
  double convergence_effect = 0.1;  ///< of examples to the target, or of the last loss
  double benchmark_effect = 0.1;    ///< of a benchmark's time
  LossPaths losses = LossPaths::BySeed;
  Taken taken = Taken::Apart;
};

/// One measure of one cell. Ratios and slowdowns are head over base; above 1 is worse.
struct Comparison {
  Verdict verdict = Verdict::NotMeasured;
  std::optional<double> ratio;       ///< of medians, or the median of ratios of pairs
  double p = 1;                      ///< after Holm's correction
  std::optional<double> detectable;  ///< smallest slowdown that these runs could have shown
  std::string note;                  ///< where losses departed; may be empty
};

struct CellComparison {
  enum class Kind { Race, Benchmark } kind = Kind::Race;
  std::string name;
  std::string source;  ///< flags of `regatta run` less the seed, or the benchmark's program
  std::size_t base_runs = 0;
  std::size_t head_runs = 0;
  std::size_t base_failed = 0;
  std::size_t head_failed = 0;
  Comparison speed;
  Comparison convergence;  ///< of a race only
};

/// The runs and benchmarks found for one side.
struct Measurements {
  std::vector<FinishedRun> runs;
  std::vector<BenchmarkResult> benchmarks;
};

/// Compares cells in the order of base, then those that only head has; races before benchmarks.
std::vector<CellComparison> compare(const Measurements& base, const Measurements& head,
                                    const CompareOptions& options);

enum class CompareFormat { Text, Markdown, Json };

struct CompareRequest {
  std::string base;  ///< a folder of records, of benchmarks, or of both, or one JSON of benchmarks
  std::string head;
  CompareFormat format = CompareFormat::Text;
  CompareOptions options;
};

/// Prints the verdicts. Returns 3 when a cell regressed or has failed runs that base does not have;
/// else 4 when one has not enough data or was not measured on both sides, or when there is none;
/// else 0. Throws: RunError(Usage) when a folder holds neither records nor benchmarks,
/// RunError(Data).
int run_compare(const CompareRequest& request);

}  // namespace regatta
