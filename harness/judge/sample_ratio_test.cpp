// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/sample_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/judge/statistics.h"

namespace regatta::judge {
namespace {

/// The p value of the hypothesis that the ratio is `ratio`.
double p_at(const TwoSamples& samples, double ratio) {
  if (samples.ratio) return p_of(*samples.ratio, ratio);
  std::vector<double> scaled, differences;
  for (std::size_t i = 0; i < samples.base.size(); ++i) {
    scaled.push_back(samples.base[i] * ratio);
    if (samples.design != Design::Pairs) continue;
    const bool both = std::isinf(samples.base[i]) && std::isinf(samples.head[i]);
    differences.push_back((both ? 0 : std::log(samples.head[i] / samples.base[i])) -
                          std::log(ratio));
  }
  return samples.design == Design::Pairs ? signed_rank_p(differences)
                                         : mann_whitney_p(scaled, samples.head);
}

TEST(SampleRatio, HasAnIntervalOfExactlyTheRatiosThatItsTestDoesNotReject) {
  std::mt19937_64 chance(7);
  std::normal_distribution<double> normal;
  int rejected = 0, infinite = 0;
  for (int number = 0; number < 400; ++number) {
    TwoSamples samples{.design = number % 2 == 0 ? Design::Pairs : Design::Independent};
    const double missing = number % 4 < 2 ? 9 : 0.8;
    const auto value = [&](double times) {
      return normal(chance) > missing ? kInfinity : times * std::exp(0.2 * normal(chance));
    };
    for (int i = 0; i < 3 + number % 8; ++i) {
      samples.base.push_back(value(1));
      samples.head.push_back(value(1.2));
    }
    samples.ratio = mean_ratio_of(samples);
    const RatioInterval interval = interval_of(samples, 0.05);
    EXPECT_LE(interval.low, interval.high);
    infinite += std::isinf(interval.high) && !samples.ratio;
    for (const double ratio : {0.5, 0.8, 0.95, 1.02, 1.1, 1.3, 1.6, 2.5}) {
      const bool outside = interval.low > ratio || interval.high < ratio;
      EXPECT_EQ(outside, p_at(samples, ratio) < 0.05)
          << number << ": " << ratio << ' ' << interval.low << ' ' << interval.high;
      rejected += outside;
    }
  }
  EXPECT_GT(rejected, 400);
  EXPECT_GT(infinite, 50);
}

TEST(SampleRatio, IsBeyondAllBoundsIfEveryRunOfOneSideMissed) {
  const std::vector<double> reached = {1, 2, 3, 4, 5, 6, 7, 8}, missed(8, kInfinity);
  for (const Design design : {Design::Pairs, Design::Independent}) {
    const RatioInterval lost = interval_of({design, reached, missed}, 0.05);
    EXPECT_EQ(lost.low, kInfinity);
    EXPECT_EQ(lost.high, kInfinity);
    EXPECT_EQ(interval_of({design, missed, reached}, 0.05).high, 0);
    const RatioInterval few = interval_of({design, {1, 2}, {kInfinity, kInfinity}}, 0.05);
    EXPECT_EQ(few.low, 0);
    EXPECT_EQ(few.high, kInfinity);
  }
}

}  // namespace
}  // namespace regatta::judge
