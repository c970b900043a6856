// SPDX-License-Identifier: Apache-2.0
//
// Statistics of small samples: medians with intervals that assume no distribution, and rank tests
// of two samples and of pairs. A run that missed its target counts only as infinitely slow.
// Everything is exact for samples as small as those of races.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace regatta {

/// The value of a run that never reached its target.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A median and the order statistics around it that cover the true one.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;  ///< exact for a continuous distribution
};

/// The narrowest interval of order statistics, symmetric in rank, that covers the median with at
/// least 95 %, or smallest to largest where none does (n < 6): coverage 1 - 2 P(Bin(n, 1/2) < k)
/// for the k-th from both ends, by the normal approximation beyond 1,000 values. Infinite values
/// are allowed. Throws: aborts on an empty sample. Source: David and Nagaraja, "Order statistics",
/// 2003, section 7.1.
MedianInterval median_interval(std::span<const double> sample);

/// Two-sided p value of the Mann-Whitney test that neither sample tends to be larger. Exact by
/// enumeration of all ways to deal the pooled values, with mid-ranks for ties, for up to 120 values
/// together; beyond that the normal approximation with corrections for ties and continuity.
/// Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947).
double mann_whitney_p(std::span<const double> a, std::span<const double> b);

/// The smallest slowdown that would have shown: the least f for which the sample times 1 + f
/// differs from the sample itself at level `alpha`. Empty where no slowdown could, because the
/// sample is too small. Infinite values are left out.
std::optional<double> detectable_slowdown(std::span<const double> sample, double alpha);

/// Two-sided p value of Wilcoxon's signed-rank test that differences of pairs are as often below 0
/// as above it, by as much. Exact up to 120 differences, beyond that the normal approximation with
/// a correction for continuity. Differences of 0 are left out, ties get mid-ranks, infinite ones
/// rank last. 1 if nothing differs. Source: Wilcoxon, Biometrics Bulletin 1 (1945).
double signed_rank_p(std::span<const double> differences);

/// The smallest shift of all pairs that would have shown: the least f for which the differences,
/// less their median, plus f differ from 0 at level `alpha`. Empty where no shift could.
std::optional<double> detectable_shift(std::span<const double> differences, double alpha);

/// Two-sided p value of Student's t distribution with `freedom` degrees of freedom, at least 1.
/// Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
double student_t_p(double t, std::size_t freedom);

/// The t with the two-sided p value `p`, in (0, 1].
double student_t_quantile(double p, std::size_t freedom);

/// Probability that the range of `means` standard normal values, over an independent estimate of
/// their deviation with `freedom` degrees of freedom, exceeds `q`. With two means it is
/// student_t_p(q / sqrt(2)). Source: Tukey; Copenhaver and Holland, Journal of Statistical
/// Computation and Simulation 30 (1988), section 2.
double studentized_range_p(double q, std::size_t means, std::size_t freedom);

/// The q with the probability `p`, in (0, 1].
double studentized_range_quantile(double p, std::size_t means, std::size_t freedom);

/// Holm's correction for several tests at once: adjusted p values in the order given.
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
std::vector<double> holm(std::span<const double> p_values);

}  // namespace regatta
