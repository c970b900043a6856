// SPDX-License-Identifier: Apache-2.0
//
// The memory that one more replica adds to a placed step of equal replicas.
#include <gtest/gtest.h>

#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

double bytes_of_parts(std::int64_t workers) {
  const double before = testing_support::bytes_in_use();
  const std::vector<Step> parts =
      testing_support::parts_of({.workload = "resnet9", .workers = workers, .batch = 32 * workers});
  return testing_support::bytes_in_use() - before;
}

TEST(PlacedStep, HoldsWhatAlikeReplicasHaveInCommonOnce) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator does not tell how much is in use";
#endif
  bytes_of_parts(66);  // makes allocations that stay
  const double two = bytes_of_parts(2);
  const double many = bytes_of_parts(66);
  const double another = (many - two) / 64;
  EXPECT_GT(another, 0);
  EXPECT_LT(another, two / 8);
}

}  // namespace
}  // namespace regatta::virtual_time
