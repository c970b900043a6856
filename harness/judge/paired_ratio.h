// SPDX-License-Identifier: Apache-2.0
//
// Compares one cell with another, seed by seed. A seed fixes the initial weights and the order of
// the data, and a matrix runs all cells of one seed one after another, so the ratio of two times
// of one seed varies less than the ratio of times of different seeds.
//
// In each run the time to the target is the number of examples times the time per example. Means of
// logarithms preserve this product and medians would not, so all ratios here are geometric means
// over the seeds.
//
// Intervals and verdicts come from one test: Student's t of the logarithms, or the studentized
// range where the two cells were picked from several by rank. A few pairs give a poor estimate of
// their spread, so it is moderated by that of the other ratios of the table (borrow_spread).
// judge_study_test.cpp measures the test's error rate and the differences that it finds.
//
// A run reaches its target somewhere between two evaluations. If two runs have equal metrics at
// both, as under strategies that compute the same, they reach the target at the same example;
// otherwise only bounds of the ratio are known, and the interval includes these bounds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/record/record.h"

namespace regatta::judge {

inline constexpr double kAlpha = 0.05;  ///< error rate of all comparisons of a report, or a claim
inline constexpr std::size_t kFewestPairs = 2;  ///< the fewest pairs with a spread

/// The logarithm of one pair's ratio, with its bounds, because a run reaches its target somewhere
/// between two evaluations.
struct LogRatio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Geometric mean of the ratios of several pairs.
struct MeanRatio {
  std::size_t pairs = 0;    ///< number of pairs
  double value = 1;         ///< the geometric mean
  double spread = 0;        ///< standard deviation of the logarithms
  std::size_t freedom = 1;  ///< degrees of freedom of `spread`
  double bracket_low = 1;   ///< the mean if each pair had its lower bound
  double bracket_high = 1;  ///< the mean if each pair had its upper bound
};

/// Averages the ratios of pairs, of which there must be at least two.
MeanRatio mean_ratio(std::span<const LogRatio> ratios);

/// Ratios of one cell's runs to another cell's runs; above 1 is slower.
struct PairedRatio {
  MeanRatio time;       ///< ratio of training times to the target: `examples` * `each`
  double examples = 1;  ///< ratio of the numbers of examples to the target
  double each = 1;      ///< ratio of the times per example until the target
};

/// Pairs the runs by seed; if a seed has several runs, the first with the first, and so on. Seeds
/// that one side lacks are left out. Empty if there are fewer than two pairs, or if a run of a pair
/// missed its target or met it before the first step.
std::optional<PairedRatio> paired_ratio(std::span<const record::Record* const> runs,
                                        std::span<const record::Record* const> others);

/// Moderates each ratio's spread by the median spread of the other ratios, which counts as up to
/// four degrees of freedom. A ratio keeps its own spread if that is larger. A single ratio is not
/// changed. Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004),
/// article 3.
void borrow_spread(std::span<MeanRatio* const> ratios);

struct RatioInterval {
  double low = 0;
  double high = 0;
};

/// The certainty that a comparison of two cells requires.
struct Certain {
  double alpha = kAlpha;  ///< probability of an error
  std::size_t cells = 2;  ///< cells from which the two were picked by rank; 2: chosen beforehand
};

/// Returns an interval around `bracket_low` to `bracket_high`. The intervals of all pairs of the
/// cells together cover the true ratios with a probability of at least 1 - alpha.
RatioInterval interval_of(const MeanRatio& ratio, const Certain& certain);

/// Returns the p value of the ratio against `boundary`: the alpha at which interval_of() just
/// reaches `boundary`; 1 if `boundary` is between `bracket_low` and `bracket_high`.
double p_of(const MeanRatio& ratio, double boundary = 1, std::size_t cells = 2);

/// Returns the number of pairs with this spread for which interval_of() extends at most `distance`,
/// a logarithm, from the ratio. Empty if that is more than 1,000, for example because evaluations
/// are too far apart.
std::optional<std::size_t> pairs_for(const MeanRatio& ratio, double distance,
                                     const Certain& certain);

}  // namespace regatta::judge
