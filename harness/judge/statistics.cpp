// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

constexpr double kCoverage = 0.95;
constexpr double kNormalQuantile = 1.959964;    // for that coverage
constexpr std::size_t kMostExactOrders = 1000;  // 2^-n is not 0 up to 1,074
constexpr std::size_t kExactValues = 120;       // a tenth of a second

std::vector<double> sorted(std::span<const double> sample) {
  std::vector<double> values(sample.begin(), sample.end());
  std::sort(values.begin(), values.end());
  return values;
}

/// Ranks of a, then of b, in the pooled sample, doubled so that mid-ranks are whole.
std::vector<std::size_t> doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> pooled(a.begin(), a.end());
  pooled.insert(pooled.end(), b.begin(), b.end());
  const std::vector<double> order = sorted(pooled);
  std::vector<std::size_t> ranks;
  for (double value : pooled) {
    const auto [first, last] = std::equal_range(order.begin(), order.end(), value);
    ranks.push_back(static_cast<std::size_t>((first - order.begin()) + (last - order.begin()) + 1));
  }
  return ranks;
}

/// Entry s: the number of ways to choose `chosen` of the ranks with sum s.
std::vector<double> ways_by_sum(const std::vector<std::size_t>& ranks, std::size_t chosen) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(total + 1));
  ways[0][0] = 1;
  for (std::size_t rank : ranks) {
    for (std::size_t k = chosen; k > 0; --k) {
      for (std::size_t sum = total; sum + 1 > rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  return ways[chosen];
}

double exact_p(const std::vector<std::size_t>& ranks, std::size_t n) {
  const std::vector<double> ways = ways_by_sum(ranks, n);
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  const double mean =
      static_cast<double>(n) * static_cast<double>(total) / static_cast<double>(ranks.size());
  const auto observed = static_cast<double>(std::accumulate(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n), std::size_t{0}));
  const double distance = std::abs(observed - mean) - 1e-9;
  double extreme = 0;
  double all = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (std::abs(static_cast<double>(sum) - mean) >= distance) extreme += ways[sum];
  }
  return std::min(1.0, extreme / all);
}

double normal_p(const std::vector<std::size_t>& ranks, std::size_t n) {
  const auto size = static_cast<double>(ranks.size());
  const auto a = static_cast<double>(n);
  const double b = size - a;
  double ties = 0;  // sum over groups of t^3 - t is sum over values of t^2 - 1
  for (std::size_t rank : ranks) {
    const auto t = static_cast<double>(std::count(ranks.begin(), ranks.end(), rank));
    ties += t * t - 1;
  }
  const double variance = a * b / 12 * (size + 1 - ties / (size * (size - 1)));
  if (variance <= 0) return 1;
  const double sum =
      static_cast<double>(std::accumulate(
          ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n), std::size_t{0})) /
      2;
  const double distance = std::max(0.0, std::abs(sum - a * (size + 1) / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

/// Twice the share of sign assignments in which the positive ranks sum to `sum` or more.
double exact_signed_p(const std::vector<std::size_t>& ranks, std::size_t sum) {
  std::vector<double> share = {1};  // entry s: the share of all ways so far with sum s
  for (std::size_t rank : ranks) {
    std::vector<double> next(share.size() + rank);
    for (std::size_t s = 0; s < share.size(); ++s) {
      next[s] += share[s] / 2;
      next[s + rank] += share[s] / 2;
    }
    share = std::move(next);
  }
  const auto begin = share.begin() + static_cast<std::ptrdiff_t>(sum);
  return std::min(1.0, 2 * std::accumulate(begin, share.end(), 0.0));
}

double normal_signed_p(const std::vector<std::size_t>& ranks, std::size_t sum) {
  double total = 0;
  double squares = 0;
  for (std::size_t rank : ranks) {
    total += static_cast<double>(rank);
    squares += static_cast<double>(rank * rank);
  }
  const double away = std::max(0.0, static_cast<double>(sum) - total / 2 - 1);  // continuity
  return std::erfc(away / std::sqrt(squares / 4) / std::sqrt(2.0));
}

/// The rank, from both ends, of an interval's limits, and its coverage.
struct OrderInterval {
  std::size_t k = 1;
  double coverage = 0;
};

OrderInterval exact_interval(std::size_t n) {
  double tail = std::pow(0.5, static_cast<double>(n));  // P(Bin(n, 1/2) < k) for k = 1
  double term = tail;
  std::size_t k = 1;
  while (k < (n + 1) / 2) {
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    if (1 - 2 * (tail + term) < kCoverage) break;
    tail += term;
    ++k;
  }
  return {.k = k, .coverage = 1 - 2 * tail};
}

/// Uses the normal approximation with a correction for continuity.
OrderInterval normal_interval(std::size_t n) {
  const double half = static_cast<double>(n) / 2;
  const double deviation = std::sqrt(static_cast<double>(n)) / 2;
  const double k = std::floor(half + 0.5 - kNormalQuantile * deviation);
  return {.k = static_cast<std::size_t>(k),
          .coverage = std::erf((half - k + 0.5) / (deviation * std::sqrt(2.0)))};
}

double normal_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Probability that the range of `means` standard normal values is below `width`.
double range_within(double width, std::size_t means) {
  constexpr double kStep = 0.4, kEnd = 6.4;
  double sum = 0;
  for (double z = -kEnd; z <= kEnd; z += kStep) {
    const double inside = normal_below(z) - normal_below(z - width);
    sum += std::exp(-z * z / 2) * std::pow(inside, static_cast<double>(means - 1));
  }
  return static_cast<double>(means) * sum * kStep / std::sqrt(2 * std::numbers::pi);
}

}  // namespace

MedianInterval median_interval(std::span<const double> sample) {
  check(!sample.empty(), "a median is of something");
  const std::vector<double> values = sorted(sample);
  const std::size_t n = values.size();
  const double upper = values[n / 2];
  const double lower = values[(n - 1) / 2];
  MedianInterval interval{.median = lower == upper ? lower : (lower + upper) / 2};
  const OrderInterval order = n > kMostExactOrders ? normal_interval(n) : exact_interval(n);
  interval.low = values[order.k - 1];
  interval.high = values[n - order.k];
  interval.coverage = order.coverage;
  return interval;
}

double mann_whitney_p(std::span<const double> a, std::span<const double> b) {
  check(!a.empty() && !b.empty(), "two samples are compared");
  const std::vector<std::size_t> ranks = doubled_ranks(a, b);
  return ranks.size() <= kExactValues ? exact_p(ranks, a.size()) : normal_p(ranks, a.size());
}

double signed_rank_p(std::span<const double> differences) {
  std::vector<double> sizes;
  for (double each : differences) {
    if (each != 0) sizes.push_back(std::abs(each));
  }
  const std::vector<double> order = sorted(sizes);
  std::vector<std::size_t> ranks;  // doubled, so that mid-ranks are whole
  std::size_t positive = 0;
  for (double each : differences) {
    if (each == 0) continue;
    const auto [first, last] = std::equal_range(order.begin(), order.end(), std::abs(each));
    ranks.push_back(static_cast<std::size_t>((first - order.begin()) + (last - order.begin()) + 1));
    if (each > 0) positive += ranks.back();
  }
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  const std::size_t larger = std::max(positive, total - positive);
  return ranks.size() <= kExactValues ? exact_signed_p(ranks, larger)
                                      : normal_signed_p(ranks, larger);
}

double student_t_p(double t, std::size_t freedom) {
  check(freedom > 0, "two values at least have a spread");
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
  const double square = std::pow(std::cos(angle), 2);
  const bool odd = freedom % 2 == 1;
  double term = odd ? std::cos(angle) : 1;
  double sum = freedom > 1 ? term : 0;
  for (std::size_t k = odd ? 3 : 2; k < freedom; k += 2) {
    term *= square * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  sum *= std::sin(angle);
  return std::clamp(1 - (odd ? 2 / std::numbers::pi * (angle + sum) : sum), 0.0, 1.0);
}

double student_t_quantile(double p, std::size_t freedom) {
  check(p > 0 && p <= 1, "a probability");
  double low = 0;
  double high = 1;
  while (student_t_p(high, freedom) > p && high < 1e15) high *= 2;
  for (int halvings = 0; halvings < 100; ++halvings) {
    const double middle = (low + high) / 2;
    (student_t_p(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

double studentized_range_p(double q, std::size_t means, std::size_t freedom) {
  check(means > 1 && freedom > 0, "a range is of two values at least, whose spread is known");
  if (means == 2) return student_t_p(q / std::numbers::sqrt2, freedom);
  // Integrates over the logarithm u of the estimated deviation e^u; its square times `freedom` is
  // chi-squared. Both integrands are smooth and vanish at the ends, so sums of equal steps converge
  // rapidly.
  const auto n = static_cast<double>(freedom);
  const double log_scale = n / 2 * std::log(n / 2) - std::lgamma(n / 2) + std::numbers::ln2;
  const double from = -12 / std::sqrt(n) - 1, to = 6 / std::sqrt(n) + 0.5;
  const int steps = freedom < 5 ? 192 : 80;
  const double step = (to - from) / steps;
  double within = 0, whole = 0;
  for (int i = 0; i <= steps; ++i) {
    const double u = from + step * i;
    const double density = std::exp(log_scale + n * u - n / 2 * std::exp(2 * u));
    if (density < 1e-12) continue;
    whole += density;
    within += density * range_within(q * std::exp(u), means);
  }
  return std::clamp(1 - within / whole, 0.0, 1.0);
}

double studentized_range_quantile(double p, std::size_t means, std::size_t freedom) {
  const double low_t = student_t_quantile(p, freedom);
  if (means == 2) return low_t * std::numbers::sqrt2;
  // False position (Illinois) between the values for one pair and, by Bonferroni, all pairs.
  const double pairs = static_cast<double>(means * (means - 1)) / 2;
  double low = low_t * std::numbers::sqrt2;
  double high = student_t_quantile(p / pairs, freedom) * std::numbers::sqrt2;
  const auto above = [&](double q) { return std::log(studentized_range_p(q, means, freedom) / p); };
  double at_low = above(low), at_high = above(high);
  while (high - low > 1e-7 * high && at_high < 0) {
    const double next = (low * at_high - high * at_low) / (at_high - at_low);
    const double at_next = above(next);
    if (std::abs(at_next) < 1e-7) return next;
    if (at_next > 0) {
      low = next, at_low = at_next, at_high /= 2;
    } else {
      high = next, at_high = at_next, at_low /= 2;
    }
  }
  return high;
}

double share_of_look(std::size_t look, std::size_t looks) {
  check(look > 0 && looks > 0, "the first look is 1");
  constexpr double kPlanned = 0.9;
  if (look <= looks) return kPlanned / static_cast<double>(looks);
  const auto after = static_cast<double>(look - looks);
  return (1 - kPlanned) / (after * (after + 1));
}

}  // namespace regatta::judge
