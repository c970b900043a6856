// SPDX-License-Identifier: Apache-2.0
//
// Looks at growing data. Each look is a separate comparison with a share of the error rate
// (share_of_look). All looks are repeated from the runs, so only the runs are stored.
#include <algorithm>
#include <iterator>
#include <set>

#include "harness/judge/compare.h"
#include "harness/judge/statistics.h"

namespace regatta::judge {
namespace {

/// Returns the runs of the first `count` seeds.
Measurements first_of(const Measurements& side, std::size_t count) {
  Measurements result;
  std::set<std::uint64_t> seeds;
  for (const FinishedRun& run : side.runs) seeds.insert(run.cell.seed);
  while (seeds.size() > count) seeds.erase(std::prev(seeds.end()));
  std::ranges::copy_if(side.runs, std::back_inserter(result.runs),
                       [&](const FinishedRun& run) { return seeds.contains(run.cell.seed); });
  return result;
}

bool is_decided(const Comparison& comparison) {
  return comparison.verdict != Verdict::NotEnoughData && comparison.verdict != Verdict::NotMeasured;
}

/// Replaces the verdicts of `cells` by those that an earlier look has decided, and notes in new
/// decisions that they were made after `seeds` seeds.
void keep_decided(const std::vector<CellComparison>& earlier, std::size_t seeds,
                  std::vector<CellComparison>& cells) {
  for (CellComparison& cell : cells) {
    const auto before = std::ranges::find(earlier, cell.name, &CellComparison::name);
    for (Comparison CellComparison::*measure :
         {&CellComparison::speed, &CellComparison::convergence}) {
      if (before != earlier.end() && is_decided((*before).*measure)) {
        cell.*measure = (*before).*measure;
      } else if (is_decided(cell.*measure)) {
        (cell.*measure).seeds = seeds;
      }
    }
  }
}

}  // namespace

std::vector<CellComparison> compare(const Measurements& base, const Measurements& head,
                                    const CompareOptions& options) {
  if (options.looks.empty()) return compare_once(base, head, options);
  CompareOptions once = options;
  once.alpha *= share_of_look(1, options.looks.size());  // of each of them
  std::vector<CellComparison> result;
  for (const std::size_t seeds : options.looks) {
    const Measurements before = first_of(base, seeds), after = first_of(head, seeds);
    auto cells = compare_once(before, after, once);
    keep_decided(result, seeds, cells);
    result = std::move(cells);
    if (before.runs.size() == base.runs.size() || after.runs.size() == head.runs.size()) break;
  }
  return result;
}

}  // namespace regatta::judge
