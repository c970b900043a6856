// SPDX-License-Identifier: Apache-2.0
//
// Compares one cell with another, seed by seed. The ratio of two times varies less within a seed
// than between seeds, because a seed fixes the initial weights and the order of the data, and a
// matrix runs all cells of a seed one after another.
//
// In each run the time to the target is the number of examples times the time per example. Means of
// logarithms preserve this product and medians would not, so all ratios here are geometric means
// over the seeds.
//
// Intervals and verdicts come from one test: Student's t of the logarithms, or the studentized
// range where the two cells were picked from several by rank. A few pairs give a poor estimate of
// their spread, so it is moderated by that of the other ratios of the table (borrow_spread).
// results/verdicts.md has the test's error rate and the differences that it finds.
//
// A matrix that decides compares synchronous strategies by speed alone (learning_key): their
// updates are equal up to rounding, so only chance decides which of them needs more examples with a
// seed.
//
// A run reaches its target somewhere between two evaluations. If two runs have equal metrics at
// both, as under strategies that compute the same, they reach the target at the same example;
// otherwise only bounds of the ratio are known, and the interval includes these bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/record.h"

namespace regatta::judge {

inline constexpr double kAlpha = 0.05;  ///< error rate of all comparisons of a report, or a claim
inline constexpr std::size_t kFewestPairs = 2;  ///< the fewest pairs with a spread

/// The rule by which the number of runs of a cell was chosen.
enum class Stopping {
  Fixed,   ///< before the race
  Rounds,  ///< during the race, by a look at the results after each round (`--decide`)
};

/// Returns the round in which a matrix that decides races its `ordinal`-th seed, from 1 on. Rounds
/// end after 1, 2, 3, 4, 6, 9, 13, 19, 28, ... seeds: each adds half of them, because the test
/// spends some of its error rate after each.
std::size_t round_of(std::size_t ordinal);
/// The most seeds of a matrix that decides, without `--seeds`; its rounds are the planned looks.
inline constexpr std::size_t kMostSeedsToDecide = 28;

/// Returns a key that is equal for runs of a matrix that decides which learn alike but for
/// rounding: of synchronous strategies without backup workers, with one batch, rate and dtype.
/// Empty for others, and for runs without a speed.
std::string learning_key(const record::Record& run);

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

/// Averages the ratios of pairs. One pair has no spread, and no degrees of freedom.
MeanRatio mean_ratio(std::span<const LogRatio> ratios);

/// Ratios of one cell's runs to another cell's runs; above 1 is slower.
struct PairedRatio {
  MeanRatio time;         ///< ratio of training times to the target: `examples` * `each`
  double examples = 1;    ///< ratio of the numbers of examples to the target
  double each = 1;        ///< ratio of the times per example until the target
  bool is_least = false;  ///< a run missed its target and counts with the time it took at least
};

/// Pairs the runs by seed; if a seed has several runs, the first with the first, and so on. Seeds
/// that one side lacks are left out. Stopping::Fixed: empty if there are fewer than two pairs, or
/// if a run of a pair missed its target or met it before the first step. Stopping::Rounds: the
/// pairs of whole rounds, one at least; failed runs are left out, and only `others` must not miss,
/// unless both learn alike.
std::optional<PairedRatio> paired_ratio(std::span<const record::Record* const> runs,
                                        std::span<const record::Record* const> others,
                                        Stopping stopping = Stopping::Fixed);

/// Returns each seed's ratio of the training times to the target, where it is known.
std::vector<std::pair<std::uint64_t, double>> ratios_by_seed(
    std::span<const record::Record* const> runs, std::span<const record::Record* const> others);

/// Moderates each ratio's spread by the median spread of the other ratios, which counts as up to
/// four degrees of freedom, or 16 with Stopping::Rounds. A ratio keeps its own spread if that is
/// larger. A single ratio is not changed. A ratio of one pair gets twice the largest spread of the
/// others. Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004),
/// article 3.
void borrow_spread(std::span<MeanRatio* const> ratios, Stopping stopping = Stopping::Fixed);

struct RatioInterval {
  double low = 0;
  double high = 0;
};

/// The certainty that a comparison of two cells requires.
struct Certain {
  double alpha = kAlpha;  ///< probability of an error
  std::size_t cells = 2;  ///< cells from which the two were picked by rank; 2: chosen beforehand
};

/// Returns the certainty of a look at `pairs` pairs in a matrix that decides: share_of_look() of
/// `alpha`, divided by the number of pairs of cells (Bonferroni), so that all
/// looks of a race together err with a probability of at most `alpha`.
Certain at_look(const Certain& whole, std::size_t pairs);

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
