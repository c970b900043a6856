// SPDX-License-Identifier: Apache-2.0
//
// One cell against another, run by run: a seed is the same first weights and the same data in the
// same order, and a matrix runs its cells of one seed after another, so that the ratio of two times
// within a seed is freer of chance than two samples are.
//
// The time to the target is the examples to the target times the time for each, in every run. Means
// of logarithms keep that product, medians would not: all ratios here are geometric means over the
// seeds.
//
// Intervals and verdicts come from one test: Student's t of the logarithms, or the studentized
// range where the compared cells are the outermost of several. Few pairs hardly know their spread,
// so they borrow it from the other ratios of their table (borrow_spread). judge_study_test.cpp
// measures how often the test errs and which differences it finds.
//
// A run comes to its target somewhere between two evaluations. Two runs whose evaluations there are
// the same, as of strategies that compute the same, come there at the same example; of others only
// the bounds are known, and the interval has them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/record/record.h"

namespace regatta {

inline constexpr double kAlpha = 0.05;          ///< of all comparisons of a page, or of a claim
inline constexpr std::size_t kFewestPairs = 2;  ///< that have a spread

/// One pair's ratio, as a logarithm, and between which ones it lies.
struct LogRatio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Of pairs: geometric means.
struct MeanRatio {
  std::size_t pairs = 0;
  double value = 1;
  double spread = 0;        ///< standard deviation of the logarithms
  std::size_t freedom = 1;  ///< degrees of freedom that `spread` is known with
  double bracket_low = 1;   ///< the ratio, had each pair the lowest and the highest that its
  double bracket_high = 1;  ///< evaluations allow
};

/// Of two pairs at least.
MeanRatio mean_ratio(std::span<const LogRatio> ratios);

/// Of the first cell's runs to the other's; above 1 is slower.
struct PairedRatio {
  MeanRatio time;       ///< to the target, training clock: its value is `examples` times `each`
  double examples = 1;  ///< to the target
  double each = 1;      ///< time for an example, up to the target
};

/// Seeds that only one of them has are left out; runs of one seed are paired in their order.
/// Nothing with fewer than two pairs, or where a run of a pair missed its target or was there at
/// once.
std::optional<PairedRatio> paired_ratio(std::span<const Record* const> runs,
                                        std::span<const Record* const> others);

/// Moderates each ratio's spread by the median spread of the others, which counts as up to four
/// degrees of freedom; a spread of its own that is larger stays. Changes nothing for fewer than
/// three ratios of cells against a first. Source: Smyth, Statistical Applications in Genetics and
/// Molecular Biology 3 (2004), article 3.
void borrow_spread(std::span<MeanRatio* const> ratios);

struct RatioInterval {
  double low = 0;
  double high = 0;
};

/// How sure a comparison is to be, and out of how many cells its two were picked by their order:
/// two that were named beforehand are two.
struct Certain {
  double alpha = kAlpha;
  std::size_t cells = 2;
};

/// Covers the true ratio, and those of all other pairs of the cells, with probability 1 - alpha at
/// least, around the bounds that the evaluations leave.
RatioInterval interval_of(const MeanRatio& ratio, const Certain& certain);

/// The largest alpha of an interval that has `boundary` at its edge; 1 where the bounds have it
/// between them.
double p_of(const MeanRatio& ratio, double boundary = 1, std::size_t cells = 2);

/// By how many pairs of such a spread `interval_of` would be within `distance`, a logarithm, of the
/// ratio; nothing where more than a thousand would not do, as where evaluations are too far apart.
std::optional<std::size_t> pairs_for(const MeanRatio& ratio, double distance,
                                     const Certain& certain);

}  // namespace regatta
