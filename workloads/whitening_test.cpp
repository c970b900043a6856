// SPDX-License-Identifier: Apache-2.0
#include "workloads/whitening.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workloads/data/shapes.h"

namespace regatta::workloads {
namespace {

// The second difference of 4 points has the eigenvalues 2 - 2 cos(k pi / 5), k = 1 … 4.
TEST(Whitening, FindsTheEigenvaluesOfASecondDifference) {
  const std::vector<double> matrix{2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2};
  const Eigensystem system = eigensystem(matrix, 4);
  for (int k = 1; k <= 4; ++k) {
    EXPECT_NEAR(system.values[static_cast<std::size_t>(k - 1)], 2 - 2 * std::cos(k * M_PI / 5),
                1e-14);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double product = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        product += system.vectors[4 * i + k] * system.vectors[4 * j + k];
      }
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-14);
    }
  }
}

TEST(Whitening, LeavesPatchesUncorrelatedWithVarianceOne) {
  const DataSet data = make_shapes(20, Split::Train, 256);
  Augmentation normalisation;
  normalisation.mean = {120, 118, 110};
  normalisation.deviation = {60, 62, 64};
  const std::vector<float> filters =
      whitening_filters(data, normalisation, {.kernel = 2, .images = 256, .epsilon = 0});
  constexpr std::size_t kSize = 12;
  ASSERT_EQ(filters.size(), 2 * kSize * kSize);
  std::vector<double> products(kSize * kSize);
  std::vector<double> yields(kSize);
  const std::int64_t side = data.inputs.dims[0];
  std::int64_t count = 0;
  for (std::int64_t image = 0; image < data.count; ++image) {
    for (std::int64_t y = 0; y + 1 < side; ++y) {
      for (std::int64_t x = 0; x + 1 < side; ++x, ++count) {
        for (std::size_t f = 0; f < kSize; ++f) {
          double sum = 0;
          for (std::size_t i = 0; i < kSize; ++i) {
            const std::size_t c = i % 3;
            const auto column = x + static_cast<std::int64_t>(i / 3 % 2);
            const auto row = y + static_cast<std::int64_t>(i / 6);
            const double byte =
                data.inputs.as<std::uint8_t>()[static_cast<std::size_t>(
                                                   ((image * side + row) * side + column) * 3) +
                                               c];
            sum += static_cast<double>(filters[f * kSize + i]) * (byte - normalisation.mean[c]) /
                   normalisation.deviation[c];
          }
          yields[f] = sum;
        }
        for (std::size_t f = 0; f < kSize; ++f) {
          for (std::size_t g = 0; g < kSize; ++g) products[f * kSize + g] += yields[f] * yields[g];
        }
      }
    }
  }
  for (std::size_t f = 0; f < kSize; ++f) {
    for (std::size_t g = 0; g < kSize; ++g) {
      EXPECT_NEAR(products[f * kSize + g] / static_cast<double>(count), f == g ? 1 : 0, 1e-3);
    }
    EXPECT_EQ(filters[(kSize + f) * kSize], -filters[f * kSize]);
  }
}

TEST(Whitening, AsksForImages) {
  EXPECT_ANY_THROW(whitening_filters(DataSet{}, {}, {.kernel = 2, .images = 1, .epsilon = 0}));
}

}  // namespace
}  // namespace regatta::workloads
