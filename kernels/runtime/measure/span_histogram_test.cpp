// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/span_histogram.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace regatta {
namespace {

TEST(SpanHistogram, KnowsCountSumAndLargestExactly) {
  SpanHistogram spans;
  for (const std::int64_t ns : {3, 1'000'000, 17, -5}) spans.add(ns);
  EXPECT_EQ(spans.count(), 4);
  EXPECT_EQ(spans.sum(), 1'000'020);
  EXPECT_EQ(spans.largest(), 1'000'000);
  EXPECT_EQ(SpanHistogram().quantile(0.5), 0);
}

TEST(SpanHistogram, KnowsQuantilesToWithinSixPercent) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> sizes(10, 3);
  std::vector<std::int64_t> all;
  SpanHistogram spans;
  for (int i = 0; i < 10'001; ++i) {
    all.push_back(static_cast<std::int64_t>(sizes(random)));
    spans.add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(q * 10'000)]);
    EXPECT_NEAR(static_cast<double>(spans.quantile(q)), exact, 0.0625 * exact + 0.5) << q;
  }
}

TEST(SpanHistogram, HasABucketForEverySpan) {
  for (int bit = 0; bit < 63; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      SpanHistogram spans;
      const std::int64_t ns = (std::int64_t{1} << bit) + off;
      spans.add(ns);
      EXPECT_NEAR(static_cast<double>(spans.quantile(0.5)), static_cast<double>(ns),
                  0.0625 * static_cast<double>(ns));
    }
  }
  SpanHistogram spans;
  spans.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(spans.count(), 1);
}

TEST(SpanHistogram, AddsWhatOthersHaveCounted) {
  SpanHistogram one;
  SpanHistogram other;
  SpanHistogram both;
  for (std::int64_t ns = 1; ns < 1'000'000; ns = 3 * ns + 1) {
    (ns % 2 == 0 ? one : other).add(ns);
    both.add(ns);
  }
  one.add(SpanHistogram::of(other.counts(), other.sum(), other.largest()));
  EXPECT_EQ(one.counts(), both.counts());
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.sum(), both.sum());
  EXPECT_EQ(one.largest(), both.largest());
}

}  // namespace
}  // namespace regatta
