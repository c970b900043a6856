// SPDX-License-Identifier: Apache-2.0
//
// The ratio of two samples of a cost, such as times or losses, with its confidence interval. The
// test is Student's t test of the logarithms (paired_ratio.h). Where a run never reached its target
// the samples hold infinite values, and the test uses ranks: Wilcoxon's for pairs, else
// Mann-Whitney's. The interval holds the ratios that the test does not reject.
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/paired_ratio.h"

namespace regatta::judge {

enum class Design { Independent, Pairs };

struct TwoSamples {
  Design design = Design::Independent;
  std::vector<double> base;
  std::vector<double> head;             ///< for pairs: element k belongs to base's
  std::optional<MeanRatio> ratio = {};  ///< head's over base's; empty where ranks are compared
};

/// Returns the ratio of the means of the logarithms; empty if a side has fewer than two values, or
/// one that is not finite and positive.
std::optional<MeanRatio> mean_ratio_of(const TwoSamples& samples);

/// Whether some outcome of the test on samples of this size can be significant. False for equal
/// samples of deterministic runs, which chance does not affect.
bool can_reject(const TwoSamples& samples, double alpha);

/// Returns the typical ratio: that of the means or, for ranks, of the medians, or the median of the
/// ratios of pairs.
double ratio_of(const TwoSamples& samples);

/// Returns the interval that covers the true ratio with a probability of at least 1 - alpha. It is
/// 1 to 1 for equal samples of two values or more, and 0 to infinite if ranks can show nothing.
RatioInterval interval_of(const TwoSamples& samples, double alpha);

}  // namespace regatta::judge
