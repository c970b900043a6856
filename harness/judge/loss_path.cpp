// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/loss_path.h"

#include <algorithm>
#include <cmath>

#include "kernels/graph/error.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr double kFirstTolerance = 0x1p-20;  // 16 roundings of f32
constexpr double kGrowth = 3;                // with each step
constexpr std::int64_t kSteps = 8;           // beyond them rounding alone can decide a pixel

/// A run that failed consumed a part only, and older records do not tell.
bool consumed_others(const FinishedRun& base, const FinishedRun& head) {
  const std::string &before = base.checksums.data_order, &after = head.checksums.data_order;
  const bool whole = base.status != Status::Failed && head.status != Status::Failed;
  return whole && !before.empty() && !after.empty() && before != after;
}

}  // namespace

bool steps_together(const std::string& strategy) {
  try {
    return exchange_of(find_strategies(strategy)) == Exchange::Synchronous;
  } catch (const RunError&) {
    return false;
  }
}

bool must_follow(const FinishedRun& base, const FinishedRun& head) {
  const Checksums& before = base.checksums;
  const Checksums& after = head.checksums;
  return base.cell == head.cell && base.seed == head.seed && base.dtype == "f32" &&
         !base.has_quorum && steps_together(base.strategy) && !before.initial_weights.empty() &&
         before.initial_weights == after.initial_weights;
}

PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head) {
  PathComparison result{.same_examples = !consumed_others(base, head)};
  if (base.losses.empty() || base.global_batch <= 0) return result;
  const std::int64_t first = base.losses.front().examples;
  for (const LossSample& before : base.losses) {
    const std::int64_t step = (before.examples - first) / base.global_batch;
    if (step > kSteps) break;
    const auto after =
        std::find_if(head.losses.begin(), head.losses.end(),
                     [&](const LossSample& each) { return each.examples == before.examples; });
    if (after == head.losses.end()) continue;
    result.steps = step;
    const double tolerance = kFirstTolerance * std::pow(kGrowth, static_cast<double>(step));
    const double scale = std::max(std::abs(before.loss), std::abs(after->loss));
    if (std::abs(after->loss - before.loss) <= tolerance * scale) continue;
    result.departure = Departure{.step = step, .base = before.loss, .head = after->loss};
    return result;
  }
  return result;
}

}  // namespace regatta
