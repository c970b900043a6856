// SPDX-License-Identifier: Apache-2.0
//
// Claims on learning: asynchronous strategies against the synchronous one that exchanges by the
// same means.
//
// Jitter is the median change of the loss from one value to the next, relative to the loss. A value
// is the training loss over one global batch under either strategy, because an asynchronous update
// sees only its worker's share, and a loss over fewer examples jitters more under any strategy.
// Evaluations replace it where records hold too few losses, or where the batch is the whole data
// set, so that every worker has its own examples in every step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/claim_list.h"

namespace regatta::judge {
namespace {

constexpr double kMoreJittery = 1.1;
constexpr double kMore = 1.02;   ///< examples, loss
constexpr double kLater = 1.05;  ///< training time

/// Calls what(asynchronous, its runs, synchronous sibling's runs, field) for each pair.
template <typename Function>
void for_each_pair(std::span<const Field> fields, Function what) {
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      if (!is_asynchronous(contestant)) continue;
      const bool by_server = contestant.strategy == "parameter_server_async";
      const auto* sibling = counterpart(
          field, contestant, by_server ? "parameter_server" : "all_reduce", contestant.processes);
      if (sibling != nullptr) what(contestant, runs, sibling->second, field);
    }
  }
}

double median_change(const std::vector<double>& losses) {
  std::vector<double> changes;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    if (losses[i - 1] != 0) changes.push_back(std::abs(losses[i] / losses[i - 1] - 1));
  }
  return changes.empty() ? 0 : median_interval(changes).median;
}

/// Means over consecutive windows of `window` training losses; empty unless the record holds the
/// loss of each step and a batch is only a part of the data set.
std::vector<double> training_losses(const record::Record& record, std::size_t window) {
  if (record.evaluations.empty()) return {};
  const record::Evaluation& last = record.evaluations.back();
  const double data_set = static_cast<double>(last.examples) / last.epoch;
  const bool whole = std::cmp_equal(record.losses.size(), record.step_time_ns.count);
  if (!whole || !(data_set > static_cast<double>(record.cell.global_batch))) return {};
  std::vector<double> means;
  for (std::size_t i = 0; i + window <= record.losses.size(); i += window) {
    double sum = 0;
    for (std::size_t k = i; k < i + window; ++k) sum += record.losses[k].loss;
    means.push_back(sum / static_cast<double>(window));
  }
  return means;
}

/// The number of losses recorded for one global batch: one, or one for each worker.
std::size_t losses_of_a_batch(const record::Record& record) {
  if (record.evaluations.empty() || record.evaluations.back().examples == 0) return 1;
  const double batches = static_cast<double>(record.evaluations.back().examples) /
                         static_cast<double>(record.cell.global_batch);
  const double losses = std::round(static_cast<double>(record.step_time_ns.count) / batches);
  return static_cast<std::size_t>(std::max(1.0, losses));
}

std::optional<double> jitter_in_batches(const record::Record& record) {
  if (record.status == record::Status::Failed) return std::nullopt;
  const std::vector<double> losses = training_losses(record, losses_of_a_batch(record));
  const double jitter = median_change(losses);
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

std::optional<double> jitter_of_updates(const record::Record& record) {
  if (record.status == record::Status::Failed) return std::nullopt;
  const double jitter = median_change(training_losses(record, 1));
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

/// Jitter relative to the mean of both neighbours: evaluations are few, so their trend counts.
std::optional<double> jitter_in_evaluations(const record::Record& record) {
  if (record.status == record::Status::Failed) return std::nullopt;
  std::vector<double> bends;
  for (std::size_t i = 1; i + 1 < record.evaluations.size(); ++i) {
    const double between = (record.evaluations[i - 1].loss + record.evaluations[i + 1].loss) / 2;
    if (between > 0) bends.push_back(std::abs(record.evaluations[i].loss / between - 1));
  }
  if (bends.empty()) return std::nullopt;
  const double jitter = median_interval(bends).median;
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

std::optional<double> final_loss(const record::Record& record) {
  if (!is_told(record)) return std::nullopt;
  if (record.status == record::Status::Failed) return std::numeric_limits<double>::infinity();
  if (record.evaluations.empty()) return std::nullopt;
  return record.evaluations.back().loss;
}

constexpr const char* kNeeds =
    "asynchronous strategy beside its synchronous sibling (parameter_server_async beside "
    "parameter_server, async_shared and ad_psgd beside all_reduce)";

}  // namespace

Claim asynchronous_is_jittery(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_is_jittery",
              .taught = "The loss of asynchronous training is more jittery.",
              .figure = "jitter"};
  std::vector<RatioComparison> comparisons;
  std::vector<RatioComparison> updates;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    const std::string what = label(contestant, field);
    RatioComparison batches = compare_runs(what, runs, sibling, jitter_in_batches, kMoreJittery);
    if (batches.seeds == 0) {
      keep(comparisons, compare_runs(what + " (evaluations)", runs, sibling, jitter_in_evaluations,
                                     kMoreJittery));
      return;
    }
    comparisons.push_back(std::move(batches));
    keep(updates, compare_runs(what, runs, sibling, jitter_of_updates, kMoreJittery));
  });
  Wording wording{.measure = fmt::format("Jitter over equal examples in terms of the synchronous "
                                         "sibling, where more means above {}.",
                                         kMoreJittery),
                  .above = "more",
                  .below = "not more"};
  for (const RatioComparison& each : updates) {
    wording.more.push_back(
        "another thing, the loss of single updates, each of one worker's share "
        "of a batch: " +
        each.what + ' ' + ratio_text(each));
  }
  conclude(claim, std::move(comparisons), Side::Above, wording, kNeeds);
  return claim;
}

Claim asynchronous_needs_more_examples(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_needs_more_examples",
              .taught = "Asynchronous training misses the optimum or needs more examples.",
              .figure = "staleness"};
  std::vector<RatioComparison> comparisons;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    const std::string what = label(contestant, field);
    RatioComparison examples =
        compare_runs(what + ": examples", runs, sibling, examples_to_target, kMore);
    if (examples.seeds == 0) {  // neither reached the target
      examples = compare_runs(what + ": last loss", runs, sibling, final_loss, kMore);
    }
    keep(comparisons, std::move(examples));
  });
  conclude(
      claim, std::move(comparisons), Side::Above,
      {.measure = fmt::format("Examples to the target, or where none came there the last loss, in "
                              "terms of the synchronous sibling, where more means above {}.",
                              kMore),
       .above = "more",
       .below = "not more"},
      kNeeds);
  return claim;
}

Claim asynchronous_in_equal_time(std::span<const Field> fields) {
  Claim claim{
      .name = "asynchronous_in_equal_time",
      .taught = "Asynchronous training comes to the target as soon as synchronous training.",
      .figure = "race"};
  std::vector<RatioComparison> comparisons;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    keep(comparisons,
         compare_runs(label(contestant, field), runs, sibling, seconds_to_target, kLater));
  });
  conclude(
      claim, std::move(comparisons), Side::Below,
      {.measure = fmt::format("Training time to the target in terms of the synchronous sibling, "
                              "where worse means above {}.",
                              kLater),
       .above = "worse",
       .below = "not worse"},
      std::string(kNeeds) + " that reached its target");
  return claim;
}

}  // namespace regatta::judge
