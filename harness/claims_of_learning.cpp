// SPDX-License-Identifier: Apache-2.0
//
// Claims on what is learnt: asynchronous strategies beside the synchronous one that exchanges by
// the same means.
//
// Jitter is the median change of the loss from one value to the next, in terms of the loss. One
// value is the training loss over one global batch under either strategy: an asynchronous update
// sees only its worker's share, and the loss of fewer examples jitters more whoever trains. Where
// records hold too few losses for that, or the batch is the whole data set, so that every worker
// has its own examples in every step, evaluations are taken.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/claim_list.h"

namespace regatta {
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

/// Means over `window` training losses in turn; empty unless the record holds the loss of each step
/// and a batch is a part of the data set.
std::vector<double> training_losses(const Record& record, std::size_t window) {
  if (record.evaluations.empty()) return {};
  const Evaluation& last = record.evaluations.back();
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

/// Losses that one global batch has: one, or one of each worker.
std::size_t losses_of_a_batch(const Record& record) {
  if (record.evaluations.empty() || record.evaluations.back().examples == 0) return 1;
  const double batches = static_cast<double>(record.evaluations.back().examples) /
                         static_cast<double>(record.cell.global_batch);
  const double losses = std::round(static_cast<double>(record.step_time_ns.count) / batches);
  return static_cast<std::size_t>(std::max(1.0, losses));
}

std::optional<double> jitter_in_batches(const Record& record) {
  const std::vector<double> losses = training_losses(record, losses_of_a_batch(record));
  const double jitter = median_change(losses);
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

std::optional<double> jitter_of_updates(const Record& record) {
  const double jitter = median_change(training_losses(record, 1));
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

/// Between neighbours what is not a straight line: evaluations are few, so their trend counts.
std::optional<double> jitter_in_evaluations(const Record& record) {
  std::vector<double> bends;
  for (std::size_t i = 1; i + 1 < record.evaluations.size(); ++i) {
    const double between = (record.evaluations[i - 1].loss + record.evaluations[i + 1].loss) / 2;
    if (between > 0) bends.push_back(std::abs(record.evaluations[i].loss / between - 1));
  }
  if (bends.empty()) return std::nullopt;
  const double jitter = median_interval(bends).median;
  return jitter > 0 ? std::optional(jitter) : std::nullopt;
}

std::optional<double> final_loss(const Record& record) {
  if (record.status == Status::Failed) {
    const bool diverged = record.failure && record.failure->kind == "diverged";
    return diverged ? std::optional(std::numeric_limits<double>::infinity()) : std::nullopt;
  }
  if (record.evaluations.empty()) return std::nullopt;
  return record.evaluations.back().loss;
}

constexpr const char* kNeeds =
    "asynchronous strategy beside its synchronous sibling (parameter_server_async beside "
    "parameter_server, async_shared beside all_reduce)";

}  // namespace

Claim asynchronous_is_jittery(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_is_jittery",
              .taught = "The loss of asynchronous training is more jittery.",
              .because = {},
              .figure = "jitter",
              .missing = {}};
  std::vector<Comparison> comparisons;
  std::vector<Comparison> updates;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    const std::string what = label(contestant, field);
    Comparison batches = compare_runs(what, runs, sibling, jitter_in_batches, kMoreJittery);
    if (batches.ratios.empty()) {
      keep(comparisons, compare_runs(what + " (evaluations)", runs, sibling, jitter_in_evaluations,
                                     kMoreJittery));
      return;
    }
    comparisons.push_back(std::move(batches));
    keep(updates, compare_runs(what, runs, sibling, jitter_of_updates, kMoreJittery));
  });
  std::string numbers = fmt::format(
      "Jitter over equal examples in terms of the synchronous sibling, where more means above {}. ",
      kMoreJittery);
  numbers += list_by_side(comparisons, {.above = "More", .below = "Not more"});
  if (!updates.empty()) {
    numbers +=
        " What is seen while it trains, the loss of single updates, each of one worker's share "
        "of a batch, is another thing: ";
    for (std::size_t i = 0; i < updates.size(); ++i) {
      numbers += (i == 0 ? "" : ", ") + updates[i].what + ' ' + ratio_text(updates[i]);
    }
    numbers += '.';
  }
  conclude(claim, comparisons, {.of = Says::Of::All, .truth = Side::Above}, numbers, kNeeds);
  return claim;
}

Claim asynchronous_needs_more_examples(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_needs_more_examples",
              .taught = "Asynchronous training can miss the optimum or need more examples.",
              .because = {},
              .figure = "staleness",
              .missing = {}};
  std::vector<Comparison> comparisons;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    const std::string what = label(contestant, field);
    keep(comparisons, compare_runs(what + ": examples", runs, sibling, examples_to_target, kMore));
    keep(comparisons, compare_runs(what + ": last loss", runs, sibling, final_loss, kMore));
  });
  conclude(claim, comparisons, {.of = Says::Of::Some, .truth = Side::Above},
           fmt::format("Examples to the target and loss of the last evaluation in terms of the "
                       "synchronous sibling, where more means above {}. ",
                       kMore) +
               list_by_side(comparisons, {.above = "More", .below = "Not more"}),
           kNeeds);
  return claim;
}

Claim asynchronous_in_equal_time(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_in_equal_time",
              .taught = "In equal time asynchronous training is not necessarily worse.",
              .because = {},
              .figure = "race",
              .missing = {}};
  std::vector<Comparison> comparisons;
  for_each_pair(fields, [&](const Contestant& contestant, const Runs& runs, const Runs& sibling,
                            const Field& field) {
    keep(comparisons,
         compare_runs(label(contestant, field), runs, sibling, seconds_to_target, kLater));
  });
  conclude(
      claim, comparisons, {.of = Says::Of::Some, .truth = Side::Below},
      fmt::format("Training time to the target in terms of the synchronous sibling, where worse "
                  "means above {}. ",
                  kLater) +
          list_by_side(comparisons, {.above = "Worse", .below = "Not worse"}),
      std::string(kNeeds) + " that reached its target");
  return claim;
}

}  // namespace regatta
