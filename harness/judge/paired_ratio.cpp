// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/paired_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <tuple>

#include "harness/judge/judgement.h"
#include "harness/judge/loss_path.h"
#include "harness/judge/statistics.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

constexpr double kSameMetric = 1e-2;  // relative: rounding moves an accuracy by a few examples
constexpr std::size_t kMostPairs = 1000;

/// The interval of time in which a run reached its target.
struct Arrival {
  double examples = 0;
  double before = 0;  ///< seconds; 0 if possibly there from the start
  double at = 0;
};

/// The arrival of a run that missed its target: after its end.
std::optional<Arrival> end_of(const record::Record& run) {
  if (run.status != record::Status::Missed || run.evaluations.empty()) return std::nullopt;
  const record::Evaluation& last = run.evaluations.back();
  if (last.examples <= 0 || last.training_time_ns <= 0) return std::nullopt;
  const double seconds = static_cast<double>(last.training_time_ns) * 1e-9;
  return Arrival{.examples = static_cast<double>(last.examples), .before = seconds, .at = seconds};
}

std::optional<Arrival> arrival_of(const record::Record& run) {
  if (!run.training_time_to_target_ns || !run.examples_to_target) return std::nullopt;
  Arrival arrival{.examples = static_cast<double>(*run.examples_to_target),
                  .at = static_cast<double>(*run.training_time_to_target_ns) * 1e-9};
  if (arrival.examples <= 0 || arrival.at <= 0) return std::nullopt;
  if (const auto crossing = crossing_of(run); crossing && crossing->before) {
    arrival.before = static_cast<double>(crossing->before->training_time_ns) * 1e-9;
  }
  return arrival;
}

bool same(const record::Evaluation& a, const record::Evaluation& b) {
  return a.examples == b.examples &&
         std::abs(a.metric - b.metric) <= kSameMetric * std::abs(a.metric);
}

/// Whether both reached the target at the same example, judging by their evaluations.
bool cross_together(const record::Record& one, const record::Record& other) {
  const auto a = crossing_of(one), b = crossing_of(other);
  if (!a || !b || !same(a->at, b->at) || a->before.has_value() != b->before.has_value()) {
    return false;
  }
  return !a->before || same(*a->before, *b->before);
}

using Pair = std::pair<const record::Record*, const record::Record*>;

/// Logarithms of the ratios of two runs of a seed.
struct RatioOfRuns {
  LogRatio time;
  double examples = 0;
  double each = 0;
  bool is_least = false;
};

std::optional<RatioOfRuns> ratio_of(const Pair& pair, Stopping stopping) {
  const auto& [run, other] = pair;
  if (const std::string key = learning_key(*run); !key.empty() && key == learning_key(*other)) {
    const double each = std::log(other->examples_per_s / run->examples_per_s);
    return RatioOfRuns{.time = {each, each, each}, .each = each};
  }
  auto a = arrival_of(*run);
  const auto b = arrival_of(*other);
  const bool is_least = !a && stopping == Stopping::Rounds;
  if (is_least) a = end_of(*run);
  if (!a || !b) return std::nullopt;
  const double time = std::log(a->at / b->at), examples = std::log(a->examples / b->examples);
  const bool together = cross_together(*run, *other);
  return RatioOfRuns{.time = {.value = time,
                              .low = together ? time : std::log(a->before / b->at),
                              .high = together ? time : std::log(a->at / b->before)},
                     .examples = examples,
                     .each = time - examples,
                     .is_least = is_least};
}

std::vector<Pair> pairs_of(std::span<const record::Record* const> runs,
                           std::span<const record::Record* const> others) {
  std::map<std::uint64_t, std::vector<const record::Record*>> by_seed;
  for (const record::Record* run : others) by_seed[run->cell.seed].push_back(run);
  std::map<std::uint64_t, std::size_t> taken;
  std::vector<Pair> pairs;
  for (const record::Record* run : runs) {
    const auto& of_seed = by_seed[run->cell.seed];
    std::size_t& next = taken[run->cell.seed];
    if (next < of_seed.size()) pairs.emplace_back(run, of_seed[next++]);
  }
  return pairs;
}

/// The number of pairs that rounds up to here have completed.
std::size_t pairs_of_whole_rounds(std::size_t pairs) {
  while (pairs > 1 && round_of(pairs) == round_of(pairs + 1)) --pairs;
  return pairs;
}

/// The quantile of the range, cached, because it takes milliseconds.
double critical_of(const Certain& certain, std::size_t freedom) {
  using Key = std::tuple<double, std::size_t, std::size_t>;
  constexpr std::size_t kMostCached = 10'000;
  thread_local std::map<Key, double> known;
  const Key key(certain.alpha, certain.cells, freedom);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() == kMostCached) known.clear();
  return known[key] = studentized_range_quantile(certain.alpha, certain.cells, freedom);
}

/// The half-width of an interval of the logarithm due to chance.
double chance_of(const MeanRatio& ratio, const Certain& certain) {
  if (ratio.freedom == 0) return kInfinity;
  if (ratio.spread == 0) return 0;
  return critical_of(certain, ratio.freedom) * ratio.spread /
         std::sqrt(2 * static_cast<double>(ratio.pairs));
}

}  // namespace

std::size_t round_of(std::size_t ordinal) {
  std::size_t round = 1;
  for (std::size_t end = 1; end < ordinal; end += std::max<std::size_t>(1, end / 2)) ++round;
  return round;
}

std::string learning_key(const record::Record& run) {
  const record::Cell& cell = run.cell;
  const bool is_alike = run.round && run.examples_per_s > 0 && !run.step_examples &&
                        run.status != record::Status::Failed && steps_together(cell.strategy);
  if (!is_alike) return "";
  return fmt::format("{} {} {} {}", cell.global_batch, cell.normalization_group.value_or(0),
                     cell.rate_scale, cell.dtype);
}

Certain at_look(const Certain& whole, std::size_t pairs) {
  const double comparisons = static_cast<double>(whole.cells * (whole.cells - 1)) / 2;
  const double share = share_of_look(round_of(pairs), round_of(kMostSeedsToDecide));
  return {.alpha = whole.alpha * share / comparisons};
}

MeanRatio mean_ratio(std::span<const LogRatio> ratios) {
  check(!ratios.empty(), "a mean is of something");
  const auto n = static_cast<double>(ratios.size());
  LogRatio mean;
  for (const LogRatio& each : ratios) {
    mean.value += each.value / n;
    mean.low += each.low / n;
    mean.high += each.high / n;
  }
  double squares = 0;
  for (const LogRatio& each : ratios) squares += std::pow(each.value - mean.value, 2);
  return {.pairs = ratios.size(),
          .value = std::exp(mean.value),
          .spread = ratios.size() > 1 ? std::sqrt(squares / (n - 1)) : 0,
          .freedom = ratios.size() - 1,
          .bracket_low = std::exp(mean.low),
          .bracket_high = std::exp(mean.high)};
}

std::optional<PairedRatio> paired_ratio(std::span<const record::Record* const> runs,
                                        std::span<const record::Record* const> others,
                                        Stopping stopping) {
  std::vector<Pair> pairs = pairs_of(runs, others);
  if (stopping == Stopping::Rounds) {
    std::erase_if(pairs, [](const Pair& pair) {
      return pair.first->status == record::Status::Failed ||
             pair.second->status == record::Status::Failed;
    });
    pairs.resize(pairs_of_whole_rounds(pairs.size()));
  }
  if (pairs.size() < (stopping == Stopping::Rounds ? 1 : kFewestPairs)) return std::nullopt;
  std::vector<LogRatio> times;
  double examples = 0, each = 0;  // means of logarithms
  bool is_least = false;
  const auto n = static_cast<double>(pairs.size());
  for (const Pair& pair : pairs) {
    const auto ratio = ratio_of(pair, stopping);
    if (!ratio) return std::nullopt;
    times.push_back(ratio->time);
    examples += ratio->examples / n;
    each += ratio->each / n;
    is_least |= ratio->is_least;
  }
  return PairedRatio{.time = mean_ratio(times),
                     .examples = std::exp(examples),
                     .each = std::exp(each),
                     .is_least = is_least};
}

std::vector<std::pair<std::uint64_t, double>> ratios_by_seed(
    std::span<const record::Record* const> runs, std::span<const record::Record* const> others) {
  std::vector<std::pair<std::uint64_t, double>> ratios;
  for (const Pair& pair : pairs_of(runs, others)) {
    const auto ratio = ratio_of(pair, Stopping::Fixed);
    if (ratio) ratios.emplace_back(pair.first->cell.seed, std::exp(ratio->time.value));
  }
  return ratios;
}

void borrow_spread(std::span<MeanRatio* const> ratios, Stopping stopping) {
  const std::size_t most = stopping == Stopping::Rounds ? 16 : 4;
  const auto variance = [](const MeanRatio& ratio) { return ratio.spread * ratio.spread; };
  struct Others {
    std::vector<double> variances;
    double widest = 0;
    std::size_t freedom = 0;
  };
  std::vector<Others> of_others;
  for (const MeanRatio* ratio : ratios) {
    Others& others = of_others.emplace_back();
    for (const MeanRatio* other : ratios) {
      if (other == ratio || other->freedom == 0) continue;
      // The median of a variance is below its mean (Wilson and Hilferty, 1931).
      const double skew = std::pow(1 - 2 / (9 * static_cast<double>(other->freedom)), 3);
      others.variances.push_back(variance(*other) / skew);
      others.widest = std::max(others.widest, other->spread);
      others.freedom += other->freedom;
    }
  }
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    MeanRatio& ratio = *ratios[i];
    const Others& others = of_others[i];
    const std::size_t own = ratio.freedom;
    if (own == 0) {
      ratio.spread = 2 * others.widest;
      ratio.freedom = std::min(most, others.freedom);
      continue;
    }
    const std::size_t borrowed = std::min({most, 2 * own, others.variances.size() * own});
    const double moderated = borrowed == 0 ? 0 : median_interval(others.variances).median;
    const double pooled =
        (static_cast<double>(borrowed) * moderated + static_cast<double>(own) * variance(ratio)) /
        static_cast<double>(borrowed + own);
    ratio.spread = std::sqrt(std::max(pooled, variance(ratio)));
    ratio.freedom = own + borrowed;
  }
}

RatioInterval interval_of(const MeanRatio& ratio, const Certain& certain) {
  const double chance = std::exp(chance_of(ratio, certain));
  return {.low = ratio.bracket_low / chance, .high = ratio.bracket_high * chance};
}

double p_of(const MeanRatio& ratio, double boundary, std::size_t cells) {
  const double away =
      std::max(std::log(ratio.bracket_low / boundary), std::log(boundary / ratio.bracket_high));
  if (away <= 0 || ratio.freedom == 0) return 1;
  if (ratio.spread == 0) return 0;
  const double error = ratio.spread / std::sqrt(2 * static_cast<double>(ratio.pairs));
  return studentized_range_p(away / error, cells, ratio.freedom);
}

std::optional<std::size_t> pairs_for(const MeanRatio& ratio, double distance,
                                     const Certain& certain) {
  const double left = distance - std::log(ratio.value / ratio.bracket_low);
  if (left <= 0) return std::nullopt;
  const auto counts = std::views::iota(kFewestPairs, kMostPairs + 1);
  const std::size_t borrowed = ratio.freedom + 1 - std::min(ratio.freedom + 1, ratio.pairs);
  // For a forecast, Bonferroni's bound of the range is accurate enough.
  const double alpha = certain.alpha / static_cast<double>(certain.cells * (certain.cells - 1) / 2);
  const auto found = std::ranges::partition_point(counts, [&](std::size_t pairs) {
    MeanRatio more = ratio;
    more.pairs = pairs;
    more.freedom = pairs - 1 + borrowed;
    return chance_of(more, {.alpha = alpha}) >= left;
  });
  return found == counts.end() ? std::nullopt : std::optional(*found);
}

}  // namespace regatta::judge
