// SPDX-License-Identifier: Apache-2.0
#include "harness/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "harness/statistics.h"

namespace regatta {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Sample = std::vector<double>;
using Runs = std::vector<const FinishedRun*>;

Sample seconds_per_example(const Runs& runs) {
  Sample sample;
  for (const FinishedRun* run : runs) {
    if (run->status != Status::Failed && run->examples_per_s > 0) {
      sample.push_back(1 / run->examples_per_s);
    }
  }
  return sample;
}

/// Empty where nobody ever reached the target: then it tells nothing.
Sample examples_to_target(const Runs& runs) {
  Sample sample;
  for (const FinishedRun* run : runs) {
    sample.push_back(run->examples_to_target.value_or(kInfinity));
  }
  return sample;
}

bool all_infinite(const Sample& sample) {
  return std::all_of(sample.begin(), sample.end(), [](double each) { return std::isinf(each); });
}

double ratio_of(const Sample& base, const Sample& head) {
  const double before = median_interval(base).median;
  const double after = median_interval(head).median;
  if (before == after) return 1;
  return std::isinf(before) ? 0 : after / before;
}

/// One test of the comparison, until all p values are known.
struct Test {
  Comparison* result;
  Sample base;
  Sample head;
  double effect;
};

/// `alpha`: of one test among all.
void judge(Test& test, double alpha, double least_alpha) {
  Comparison& result = *test.result;
  result.ratio = ratio_of(test.base, test.head);
  const bool significant = result.p < alpha;
  const bool worse = *result.ratio > 1 + test.effect;
  const bool better = *result.ratio < 1 / (1 + test.effect);
  // The smaller sample limits what both could have shown.
  const bool fewer = test.head.size() < test.base.size();
  result.detectable = detectable_slowdown(fewer ? test.head : test.base, least_alpha);
  if (significant && (worse || better)) {
    result.verdict = worse ? Verdict::Regressed : Verdict::Improved;
    return;
  }
  // Equal samples of what is deterministic tell all there is.
  const bool same = test.base == test.head && test.base.size() > 1;
  const bool would_show = result.detectable && *result.detectable <= 2 * test.effect;
  result.verdict = same || (would_show && !worse) ? Verdict::Unchanged : Verdict::Inconclusive;
}

Runs runs_of(const std::vector<FinishedRun>& runs, const std::string& cell) {
  Runs result;
  for (const FinishedRun& run : runs) {
    if (run.cell == cell) result.push_back(&run);
  }
  return result;
}

std::size_t failed(const Runs& runs) {
  return static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(), [](const auto* run) { return run->status == Status::Failed; }));
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Regressed: return "regressed";
    case Verdict::Improved: return "improved";
    case Verdict::Unchanged: return "unchanged";
    case Verdict::Inconclusive: return "inconclusive";
    case Verdict::NotMeasured: return "not measured";
  }
  return "unknown";
}

std::vector<CellComparison> compare(const std::vector<FinishedRun>& base,
                                    const std::vector<FinishedRun>& head,
                                    const CompareOptions& options) {
  std::vector<const FinishedRun*> cells;  // one of each
  for (const auto* side : {&base, &head}) {
    for (const FinishedRun& run : *side) {
      const bool known = std::any_of(cells.begin(), cells.end(),
                                     [&](const auto* each) { return each->cell == run.cell; });
      if (!known) cells.push_back(&run);
    }
  }
  std::vector<CellComparison> result(cells.size());
  std::vector<Test> tests;
  const auto add = [&tests](Comparison& to, Sample before, Sample after, double effect) {
    if (before.empty() || after.empty()) return;
    tests.push_back({&to, std::move(before), std::move(after), effect});
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Runs before = runs_of(base, cells[i]->cell);
    const Runs after = runs_of(head, cells[i]->cell);
    CellComparison& cell = result[i];
    cell.name = cells[i]->name;
    cell.base_runs = before.size();
    cell.head_runs = after.size();
    cell.base_failed = failed(before);
    cell.head_failed = failed(after);
    add(cell.speed, seconds_per_example(before), seconds_per_example(after), options.speed_effect);
    const Sample reached = examples_to_target(before);
    const Sample reaches = examples_to_target(after);
    if (all_infinite(reached) && all_infinite(reaches)) continue;  // a target that nobody aims at
    add(cell.convergence, reached, reaches, options.convergence_effect);
  }
  std::vector<double> p_values;
  for (const Test& test : tests) p_values.push_back(mann_whitney_p(test.base, test.head));
  const std::vector<double> corrected = holm(p_values);
  const double least_alpha = options.alpha / std::max<double>(1, static_cast<double>(tests.size()));
  for (std::size_t i = 0; i < tests.size(); ++i) {
    tests[i].result->p = corrected[i];
    judge(tests[i], options.alpha, least_alpha);
  }
  return result;
}

}  // namespace regatta
