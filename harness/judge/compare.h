// SPDX-License-Identifier: Apache-2.0
//
// `regatta compare BASE HEAD`: a verdict for each cell of two folders of records, on speed and on
// convergence, and for each benchmark in them.
//   speed        Seconds per example of runs that were taken apart; median steps of pairs of runs
//                that were taken in turn, because what else a machine does meets both of a pair
//                alike, and a median step does not know of the few that met more. So are the
//                repetitions of a benchmark.
//   convergence  Runs that must compute the same (loss_path.h) and do not have regressed, whichever
//                way their losses went, and so have runs that consumed other examples. Else
//                examples to the target, or the last loss where no run reached it, of pairs of
//                equal seeds, because seeds differ more than commits.
// The test is Student's t of the logarithms with spreads that are borrowed among the cells
// (paired_ratio.h). Where a run never came there, ranks are compared: Wilcoxon's for pairs,
// Mann-Whitney's else. Holm's correction over all tests that can reject, and an effect that is
// large enough to matter. A few runs that cannot tell are *not enough data*, never unchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/benchmark_results.h"
#include "harness/judge/finished_runs.h"

namespace regatta {

enum class Verdict { Regressed, Improved, Unchanged, NotEnoughData, NotMeasured };
/// `regressed`, `improved`, ...
std::string_view to_string(Verdict verdict);

/// Whether losses are held together seed by seed: not where a change is meant to change them.
enum class LossPaths { BySeed, Ignored };

/// How the two sides' runs were made.
enum class Taken {
  Apart,
  InTurn,  ///< seed by seed, one right after the other
};

struct CompareOptions {
  double alpha = 0.05;              ///< of all tests together
  double speed_effect = 0.03;       ///< slower or faster by less is unchanged
  double convergence_effect = 0.1;  ///< of examples to the target, or of the last loss
  double benchmark_effect = 0.1;    ///< of a benchmark's time
  LossPaths losses = LossPaths::BySeed;
  Taken taken = Taken::Apart;
};

/// One measure of one cell. Ratios and slowdowns are of head to base; above 1 is worse.
struct Comparison {
  Verdict verdict = Verdict::NotMeasured;
  std::optional<double> ratio;       ///< of medians, or the median of ratios of pairs
  double p = 1;                      ///< corrected
  std::optional<double> detectable;  ///< smallest slowdown that these runs could have shown
  std::string note;                  ///< where losses departed; empty for nothing to say
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
  Comparison convergence;  ///< of a race
};

/// What one side left.
struct Measurements {
  std::vector<FinishedRun> runs;
  std::vector<BenchmarkResult> benchmarks;
};

/// In the order of base, then what only head has; races first.
std::vector<CellComparison> compare(const Measurements& base, const Measurements& head,
                                    const CompareOptions& options);

enum class CompareFormat { Text, Markdown, Json };

struct CompareRequest {
  std::string base;  ///< a folder of records, of benchmarks, or of both, or one JSON of benchmarks
  std::string head;
  CompareFormat format = CompareFormat::Text;
  CompareOptions options;
};

/// Prints the verdicts. Returns 3 when a cell regressed or has failed runs that base has not, else
/// 4 when one has not enough data or was not measured on both sides or there is none, else 0.
/// Throws: RunError(Usage) when a folder holds neither records nor benchmarks, RunError(Data).
int run_compare(const CompareRequest& request);

}  // namespace regatta
