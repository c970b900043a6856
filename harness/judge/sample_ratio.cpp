// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/sample_ratio.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>

#include "harness/judge/statistics.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;

Sample logarithms_of(const Sample& sample) {
  Sample result;
  for (double value : sample) result.push_back(std::log(value));
  return result;
}

/// Logarithms of the ratios of pairs. Two infinite values do not differ.
Sample log_ratios(const TwoSamples& samples) {
  Sample result;
  for (std::size_t i = 0; i < samples.base.size(); ++i) {
    const bool equal = samples.base[i] == samples.head[i];
    result.push_back(equal ? 0 : std::log(samples.head[i]) - std::log(samples.base[i]));
  }
  return result;
}

MeanRatio mean_of(const Sample& logarithms) {
  std::vector<LogRatio> values;
  for (double each : logarithms) values.push_back({each, each, each});
  return mean_ratio(values);
}

/// Inverts a rank test: returns the shifts of the logarithms that it does not reject. `p_of` tests
/// one shift; its outcome changes only at `steps`, and most of these lie on the side of the shift
/// to which the samples point. Source: Lehmann, "Nonparametrics", 1975, sections 2.6 and 4.5.
RatioInterval ranked_interval(Sample steps, const std::function<double(double)>& p_of,
                              double alpha) {
  std::erase_if(steps, [](double each) { return std::isnan(each); });
  std::ranges::sort(steps);
  Sample edges = {-kInfinity};
  for (double each : steps) {
    if (std::isfinite(each) && each > edges.back()) edges.push_back(each);
  }
  edges.push_back(kInfinity);
  const auto inside = [&](std::size_t i) {  // a shift between edge i and the next
    const double low = edges[i], high = edges[i + 1];
    if (std::isfinite(low) && std::isfinite(high)) return low + (high - low) / 2;
    return std::isfinite(low) ? low + 1 : std::isfinite(high) ? high - 1 : 0;
  };
  const auto more_above = [&](double shift) {
    const auto above = std::ranges::count_if(steps, [=](double each) { return each > shift; });
    return 2 * above > std::ssize(steps);
  };
  const auto gaps = std::views::iota(std::size_t{0}, edges.size() - 1);
  const auto is_too_low = [&](std::size_t i) {
    return more_above(inside(i)) && p_of(inside(i)) < alpha;
  };
  const auto is_not_too_high = [&](std::size_t i) {
    return more_above(inside(i)) || p_of(inside(i)) >= alpha;
  };
  const auto low = std::ranges::partition_point(gaps, is_too_low) - gaps.begin();
  const auto high = std::ranges::partition_point(gaps, is_not_too_high) - gaps.begin();
  return {.low = std::exp(edges[static_cast<std::size_t>(low)]),
          .high = std::exp(edges[static_cast<std::size_t>(high)])};
}

/// Inverts Wilcoxon's test: its steps are the means of each two differences.
RatioInterval signed_rank_interval(const TwoSamples& samples, double alpha) {
  const Sample differences = log_ratios(samples);
  Sample steps;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      steps.push_back(std::midpoint(differences[i], differences[j]));
    }
  }
  const auto p_of = [&](double shift) {
    Sample shifted;
    for (double each : differences) shifted.push_back(each - shift);
    return signed_rank_p(shifted);
  };
  return ranked_interval(std::move(steps), p_of, alpha);
}

/// Inverts Mann-Whitney's test: its steps are the differences of each two values.
RatioInterval mann_whitney_interval(const TwoSamples& samples, double alpha) {
  const Sample base = logarithms_of(samples.base), head = logarithms_of(samples.head);
  Sample steps;
  for (double after : head) {
    for (double before : base) steps.push_back(after - before);
  }
  const auto p_of = [&](double shift) {
    Sample shifted;
    for (double each : base) shifted.push_back(each + shift);
    return mann_whitney_p(shifted, head);
  };
  return ranked_interval(std::move(steps), p_of, alpha);
}

}  // namespace

std::optional<MeanRatio> mean_ratio_of(const TwoSamples& samples) {
  const auto usable = [](const Sample& sample) {
    return sample.size() > 1 && std::ranges::all_of(sample, [](double value) {
             return std::isfinite(value) && value > 0;
           });
  };
  if (!usable(samples.base) || !usable(samples.head)) return std::nullopt;
  if (samples.design == Design::Pairs) return mean_of(log_ratios(samples));
  const MeanRatio base = mean_of(logarithms_of(samples.base));
  MeanRatio ratio = mean_of(logarithms_of(samples.head));
  const auto squares = [](const MeanRatio& each) {
    return each.spread * each.spread * static_cast<double>(each.freedom);
  };
  const std::size_t freedom = base.freedom + ratio.freedom;
  ratio.spread = std::sqrt(2 * (squares(base) + squares(ratio)) / static_cast<double>(freedom));
  // The number of pairs that would give their mean difference the same standard error.
  ratio.pairs = 2 * base.pairs * ratio.pairs / (base.pairs + ratio.pairs);
  ratio.freedom = freedom;
  ratio.value = ratio.bracket_low = ratio.bracket_high = ratio.value / base.value;
  return ratio;
}

bool can_reject(const TwoSamples& samples, double alpha) {
  if (samples.base == samples.head) return false;
  if (samples.ratio) return true;
  const auto n = static_cast<double>(samples.base.size());
  const auto m = static_cast<double>(samples.head.size());
  const double ways =
      samples.design == Design::Pairs
          ? std::exp2(n)
          : std::exp(std::lgamma(n + m + 1) - std::lgamma(n + 1) - std::lgamma(m + 1));
  return 2 / ways < alpha;
}

double ratio_of(const TwoSamples& samples) {
  if (samples.ratio) return samples.ratio->value;
  if (samples.design == Design::Pairs) {
    const double middle = median_interval(log_ratios(samples)).median;
    return std::isnan(middle) ? 1 : std::exp(middle);  // the middle ones are 0 and infinite
  }
  const double before = median_interval(samples.base).median;
  const double after = median_interval(samples.head).median;
  if (before == after) return 1;
  return std::isinf(before) ? 0 : after / before;
}

RatioInterval interval_of(const TwoSamples& samples, double alpha) {
  if (samples.base == samples.head && samples.base.size() > 1) return {.low = 1, .high = 1};
  if (samples.ratio) return interval_of(*samples.ratio, {.alpha = alpha});
  return samples.design == Design::Pairs ? signed_rank_interval(samples, alpha)
                                         : mann_whitney_interval(samples, alpha);
}

}  // namespace regatta::judge
