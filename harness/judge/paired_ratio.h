// SPDX-License-Identifier: Apache-2.0
//
// Compares one cell with another, run by run. A seed fixes the first weights and the data in its
// order, and a matrix runs its cells of one seed one after another, so the ratio of two times
// within a seed contains less chance than the ratio of two samples.
//
// The time to the target is the examples to the target times the time for each, in every run. Means
// of logarithms keep that product, medians would not: all ratios here are geometric means over the
// seeds.
//
// Intervals and verdicts come from one test: Student's t of the logarithms, or the studentized
// range where the compared cells are the outermost of several. A few pairs hardly determine their
// spread, so they borrow it from the other ratios of their table (borrow_spread).
// judge_study_test.cpp measures the test's error rate and the differences that it finds.
//
// A run reaches its target somewhere between two evaluations. If two runs have equal evaluations
// there, as under strategies that compute the same, they reach it at the same example; otherwise
// only the bounds are known, and the interval includes them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/record/record.h"

namespace regatta {

inline constexpr double kAlpha = 0.05;          ///< of all comparisons of a page, or of a claim
inline constexpr std::size_t kFewestPairs = 2;  ///< the fewest that have a spread

/// One pair's ratio, as a logarithm, and its bounds.
struct LogRatio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Geometric mean of the ratios of pairs.
struct MeanRatio {
  std::size_t pairs = 0;
  double value = 1;
  double spread = 0;        ///< standard deviation of the logarithms
  std::size_t freedom = 1;  ///< degrees of freedom of `spread`
  double bracket_low = 1;   ///< the ratio, had each pair the lowest that its evaluations allow
  double bracket_high = 1;  ///< the ratio, had each pair the highest that its evaluations allow
};

/// Averages at least two pairs.
MeanRatio mean_ratio(std::span<const LogRatio> ratios);

/// Ratio of one cell's runs to another's; above 1 is slower.
struct PairedRatio {
  MeanRatio time;       ///< to the target, training clock: its value is `examples` times `each`
  double examples = 1;  ///< to the target
  double each = 1;      ///< time for an example, up to the target
};

/// Pairs the runs by seed, runs of one seed in their order. Seeds that one side lacks are left out.
/// Empty with fewer than two pairs, or where a run of a pair missed its target or reached it at
/// once.
std::optional<PairedRatio> paired_ratio(std::span<const Record* const> runs,
                                        std::span<const Record* const> others);

/// Moderates each ratio's spread by the median spread of the others, which counts as up to four
/// degrees of freedom; a ratio keeps its own spread if that is larger. Changes nothing for fewer
/// than three ratios of cells against a first. Source: Smyth, Statistical Applications in Genetics
/// and Molecular Biology 3 (2004), article 3.
void borrow_spread(std::span<MeanRatio* const> ratios);

struct RatioInterval {
  double low = 0;
  double high = 0;
};

/// The error of a comparison, and the number of cells from which its two were picked by rank; 2 for
/// two cells that were named beforehand.
struct Certain {
  double alpha = kAlpha;
  std::size_t cells = 2;
};

/// An interval that covers the true ratio, and those of all other pairs of the cells, with a
/// probability of at least 1 - alpha, around the bounds that the evaluations leave.
RatioInterval interval_of(const MeanRatio& ratio, const Certain& certain);

/// The largest alpha of an interval with `boundary` at its edge; 1 if `boundary` is between the
/// evaluations' bounds.
double p_of(const MeanRatio& ratio, double boundary = 1, std::size_t cells = 2);

/// The number of pairs of this spread that brings `interval_of` within `distance`, a logarithm, of
/// the ratio; empty if a thousand are too few, for example where evaluations are too far apart.
std::optional<std::size_t> pairs_for(const MeanRatio& ratio, double distance,
                                     const Certain& certain);

}  // namespace regatta
