// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/evaluation_points.h"

#include <algorithm>
#include <ranges>

namespace regatta::plan {
namespace {

constexpr std::int64_t kFiner = 4;
constexpr double kAhead = 2;        // periods
constexpr std::int64_t kPaces = 3;  // latest periods
constexpr std::int64_t kNear = 3;   // periods, in a usual run

bool reaches(const record::Target& target, double metric) {
  return target.metric == "loss" ? metric <= target.value : metric >= target.value;
}

/// True if the metric would reach the target soon after this period began, at the fastest pace of
/// the last kPaces periods. The last period alone does not suffice, because an accuracy that has
/// just fallen gives no pace.
bool is_near(const EvaluationPoints& points, const record::Target& target,
             std::span<const record::Evaluation> evaluations, std::int64_t examples) {
  const auto reached = [&](const record::Evaluation& each) { return reaches(target, each.metric); };
  if (std::any_of(evaluations.begin(), evaluations.end(), reached)) return false;
  const std::int64_t began = examples / points.period * points.period;
  const auto mark = [&](std::int64_t periods_ago) {  // the first evaluation from there on
    return std::find_if(evaluations.begin(), evaluations.end(),
                        [&](const record::Evaluation& each) {
                          return each.examples >= began - periods_ago * points.period;
                        });
  };
  const auto last = mark(0);
  if (last == evaluations.end()) return false;
  const auto would_reach = [&](double change) {
    return reaches(target, last->metric + kAhead * change);
  };
  const std::int64_t known = std::min(kPaces, began / points.period);
  return std::ranges::any_of(std::views::iota(std::int64_t{0}, known), [&](std::int64_t ago) {
    return would_reach(mark(ago)->metric - mark(ago + 1)->metric);
  });
}

}  // namespace

EvaluationPoints evaluation_points(std::int64_t period, std::int64_t global_batch,
                                   std::int64_t total) {
  const auto batches = [&](std::int64_t examples) {
    return std::max<std::int64_t>(1, examples / global_batch) * global_batch;
  };
  return {.period = batches(period), .fine = batches(period / kFiner), .total = total};
}

EvaluationPoints evaluation_at(std::int64_t total) {
  return {.period = total, .fine = total, .total = total};
}

std::int64_t most_evaluations(const EvaluationPoints& points) {
  return points.total / points.fine + 3;
}

std::int64_t next_evaluation(const EvaluationPoints& points, const record::Target& target,
                             std::span<const record::Evaluation> evaluations,
                             std::int64_t examples) {
  const std::int64_t next = (examples / points.period + 1) * points.period;
  if (!is_near(points, target, evaluations, examples)) return std::min(next, points.total);
  const std::int64_t fine = (examples / points.fine + 1) * points.fine;
  return std::min({fine, next, points.total});
}

}  // namespace regatta::plan
