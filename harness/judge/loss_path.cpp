// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/loss_path.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/base/error.h"
#include "strategies/strategy.h"

namespace regatta::judge {
namespace {

/// The largest relative difference of 1,000 reorderings after 0, 1, 2, ... steps.
constexpr std::array<double, kComparedLosses + 1> kLossRounding = {
    1.0e-7, 2.1e-7, 3.9e-5, 5.8e-4, 1.7e-3, 4.4e-3, 5.5e-3, 6.9e-3, 1.1e-2};
constexpr std::array<double, kComparedNorms + 1> kNormRounding = {
    0,      2.5e-10, 8.7e-9, 4.1e-7, 2.3e-6, 1.0e-5, 1.8e-5, 2.3e-5, 3.2e-5,
    5.0e-5, 7.4e-5,  8.9e-5, 1.1e-4, 1.3e-4, 1.7e-4, 2.2e-4, 2.7e-4};
constexpr double kLeast = 0x1p-23;  ///< two roundings of f32
constexpr double kMargin = 4;

template <std::size_t n>
double bound(const std::array<double, n>& rounding, std::int64_t steps) {
  return kMargin *
         std::max(kLeast, *std::max_element(rounding.begin(), rounding.begin() + steps + 1));
}

/// False if a run failed, because it consumed only a part, and for older records without digests.
bool consumed_others(const FinishedRun& base, const FinishedRun& head) {
  const std::string &before = base.checksums.data_order, &after = head.checksums.data_order;
  const bool whole = base.status != record::Status::Failed && head.status != record::Status::Failed;
  return whole && !before.empty() && !after.empty() && before != after;
}

/// A compared number of a run after some steps.
struct PathPoint {
  std::int64_t steps = 0;
  std::string_view what;
  double value = 0;
  double bound = 0;
};

/// Losses come before norms: a step's loss reflects the steps before it.
std::vector<PathPoint> path_of(const FinishedRun& run) {
  std::vector<PathPoint> path;
  for (const record::LossSample& sample : run.losses) {
    const std::int64_t steps =
        (sample.examples - run.losses.front().examples) / run.cell.global_batch;
    if (steps < 0 || steps > kComparedLosses) break;
    path.push_back(
        {.steps = steps, .what = "loss", .value = sample.loss, .bound = loss_bound(steps)});
  }
  for (const record::Evaluation& evaluation : run.evaluations) {
    const std::int64_t steps = evaluation.examples / run.cell.global_batch;
    if (steps < 0 || steps > kComparedNorms || evaluation.parameter_norm == 0) continue;
    path.push_back({.steps = steps,
                    .what = "norm of the parameters",
                    .value = evaluation.parameter_norm,
                    .bound = norm_bound(steps)});
  }
  std::stable_sort(path.begin(), path.end(),
                   [](const auto& a, const auto& b) { return a.steps < b.steps; });
  return path;
}

}  // namespace

double loss_bound(std::int64_t steps) { return bound(kLossRounding, steps); }
double norm_bound(std::int64_t steps) { return bound(kNormRounding, steps); }

bool steps_together(const std::string& strategy) {
  try {
    return strategies::exchange_of(strategies::find_strategies(strategy)) ==
           strategies::Exchange::Synchronous;
  } catch (const RunError&) {
    return false;
  }
}

bool must_follow(const FinishedRun& base, const FinishedRun& head) {
  const record::Checksums& before = base.checksums;
  const record::Checksums& after = head.checksums;
  return base.name == head.name && base.cell.seed == head.cell.seed && base.cell.dtype == "f32" &&
         !base.has_quorum && steps_together(base.cell.strategy) &&
         !before.initial_weights.empty() && before.initial_weights == after.initial_weights;
}

PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head) {
  PathComparison result{.same_examples = !consumed_others(base, head)};
  if (base.cell.global_batch <= 0) return result;
  const std::vector<PathPoint> others = path_of(head);
  for (const PathPoint& before : path_of(base)) {
    const auto after = std::find_if(others.begin(), others.end(), [&](const PathPoint& each) {
      return each.steps == before.steps && each.what == before.what;
    });
    if (after == others.end()) continue;
    result.steps = std::max(result.steps, before.steps);
    const double scale = std::max(std::abs(before.value), std::abs(after->value));
    if (std::abs(after->value - before.value) <= before.bound * scale) continue;
    result.departure = Departure{
        .step = before.steps, .what = before.what, .base = before.value, .head = after->value};
    return result;
  }
  return result;
}

}  // namespace regatta::judge
