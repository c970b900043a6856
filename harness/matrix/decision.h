// SPDX-License-Identifier: Apache-2.0
//
// Decides which cells of a matrix need more runs (`regatta matrix --decide`).
//
// The matrix races in rounds over the seeds (judge::round_of) and looks at its results after each
// run, by the test of the report (judge/first_place.h). A cell needs no more runs once it is slower
// than the fastest beyond doubt, once the interval of its ratio to the fastest is as narrow as the
// precision asks, or once it has missed the target so often that its median run does. The fastest
// cell is raced as long as any other is. All cells that are still raced have the same seeds.
// Source: Maron and Moore, Advances in Neural Information Processing Systems 6 (1994).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/judgement.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/record/record.h"

namespace regatta::matrix {

class Decision {
 public:
  /// `planned` is the number of runs of a cell that is not ranked, `precision` that of
  /// record::Round; `records` are those already in the folder.
  Decision(const MatrixPlan& plan, std::size_t planned, double precision,
           std::vector<record::Record> records);

  /// Adds records and judges all races again.
  void add(std::vector<record::Record> records);

  /// Whether more than `runs` runs of the cell could change its place.
  bool needs_more(const MatrixCell& cell, std::size_t runs) const;

  /// Returns the value of `--round` for a seed of the plan.
  std::string round_of(std::uint64_t seed) const;

  /// The races, as judged from all records so far.
  const std::vector<judge::WorkloadJudgement>& races() const { return judgement_.workloads; }

 private:
  void look();

  std::vector<std::uint64_t> seeds_;
  std::size_t planned_;
  double precision_;
  std::vector<record::Record> records_;
  judge::Judgement judgement_;               ///< judgement of records_
  std::map<std::string, std::size_t> most_;  ///< largest number of runs, by MatrixCell::key
};

/// Lists at least one name, and as many as fit into `most` characters: `a, b and 30 more`.
std::string few_of(std::span<const std::string> names, std::size_t most);

/// Formats a line about a race: who is first, and after how many rounds that was decided.
std::string line_of(const judge::WorkloadJudgement& race);

/// Parses `--precision`, such as `5%` or `0.05`. Throws: RunError(Usage).
double parse_precision(const std::string& text);

/// Adds seeds to the plan up to judge::kMostSeedsToDecide.
void add_seeds(MatrixPlan& plan);

/// Checks that each workload has two cells to compare. Throws: RunError(Usage).
void require_contests(const MatrixPlan& plan);

}  // namespace regatta::matrix
