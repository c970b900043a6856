// SPDX-License-Identifier: Apache-2.0
//
// Statistics of small samples: medians with intervals that assume no distribution, and rank tests
// of two samples and of pairs. They allow infinite values, for runs that missed their target. All
// of them are exact for samples as small as those of races.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace regatta::judge {

/// The time to the target of a run that never reached it.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The median of a sample, and the confidence interval of the true median.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;  ///< the interval's level; exact for a continuous distribution
};

/// Computes the median and the narrowest interval from the k-th smallest to the k-th largest value
/// that covers the true median with at least 95 %; with fewer than 6 values none does, and the
/// interval is from the smallest to the largest. Coverage is 1 - 2 P(Bin(n, 1/2) < k), above 1,000
/// values by the normal approximation. Infinite values are allowed. Aborts if the sample is empty.
/// Source: David and Nagaraja, "Order statistics", 2003, section 7.1.
MedianInterval median_interval(std::span<const double> sample);

/// Computes the two-sided p value of the Mann-Whitney test that neither sample tends to be larger.
/// Exact, enumerating all splits of the pooled values with mid-ranks for ties, up to 120 values in
/// total; above that, the normal approximation with corrections for ties and continuity.
/// Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947).
double mann_whitney_p(std::span<const double> a, std::span<const double> b);

/// Computes the two-sided p value of Wilcoxon's signed-rank test that the differences of pairs are
/// symmetric about 0. Exact up to 120 differences; above that, the normal approximation with a
/// correction for continuity. Differences of 0 are left out, ties get mid-ranks, and infinite
/// differences rank last. Returns 1 if all are 0. Source: Wilcoxon, Biometrics Bulletin 1 (1945).
double signed_rank_p(std::span<const double> differences);

/// Computes the two-sided p value of `t` under Student's t distribution with `freedom` degrees of
/// freedom, at least 1.
/// Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
double student_t_p(double t, std::size_t freedom);

/// Returns the t whose two-sided p value is `p`, in (0, 1]: the inverse of student_t_p().
double student_t_quantile(double p, std::size_t freedom);

/// Computes the probability that the studentized range exceeds `q`: the range of `means` standard
/// normal values, divided by an independent estimate of their standard deviation with `freedom`
/// degrees of freedom. With two means it is student_t_p(q / sqrt(2)). Source: Tukey; Copenhaver and
/// Holland, Journal of Statistical Computation and Simulation 30 (1988), section 2.
double studentized_range_p(double q, std::size_t means, std::size_t freedom);

/// Returns the q that the studentized range exceeds with probability `p`, in (0, 1]: the inverse of
/// studentized_range_p().
double studentized_range_quantile(double p, std::size_t means, std::size_t freedom);

/// Returns the share of an error rate that the `look`-th test of growing data may spend, from 1 on.
/// The `looks` that are planned share nine tenths equally; the k-th after them may spend
/// 1 / (k (k + 1)) of the rest. All shares add up to 1, so a test that is repeated at each look and
/// stopped at any is wrong with at most the whole rate (union bound). Source of the series: Darling
/// and Robbins, Proceedings of the National Academy of Sciences 57 (1967).
double share_of_look(std::size_t look, std::size_t looks);

}  // namespace regatta::judge
