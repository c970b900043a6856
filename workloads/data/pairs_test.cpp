// SPDX-License-Identifier: Apache-2.0
//
// The digests are MD5 of bytes whose SHA-256 PyTorch and plain Python agree on: the followers
// (40af7f5a…), 512 validation blocks of 65 tokens (1a330232…), the first 1,024 training blocks
// (61895de0…).
#include "workloads/data/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "workloads/data/digest.h"

namespace regatta::workloads {
namespace {

/// Returns the tokens of a block, one byte each: its inputs and its last target.
std::string block(const DataSet& data, std::int64_t index) {
  const std::int64_t context = data.inputs.elements();
  std::string bytes;
  for (std::int64_t t = 0; t < context; ++t) {
    const auto at = static_cast<std::size_t>(index * context + t);
    bytes += static_cast<char>(data.inputs.as<std::int32_t>()[at]);
    if (t + 1 == context) bytes += static_cast<char>(data.targets.as<std::int32_t>()[at]);
  }
  return bytes;
}

std::string digest_of(const DataSet& data) {
  Digest digest;
  for (std::int64_t i = 0; i < data.count; ++i) digest.add(block(data, i));
  return digest.digits();
}

TEST(Pairs, HaveTheFollowersOfTheDefinition) {
  const auto follow = pairs_followers();
  EXPECT_EQ(follow[0], (std::array<std::uint8_t, 4>{1, 15, 8, 3}));
  EXPECT_EQ(follow[1], (std::array<std::uint8_t, 4>{2, 13, 14, 8}));
  EXPECT_EQ(follow[255], (std::array<std::uint8_t, 4>{13, 3, 9, 2}));
  Digest digest;
  for (const auto& four : follow) digest.add(std::as_bytes(std::span(four)));
  EXPECT_EQ(digest.digits(), "2813a4ba567eb606f896a8b08399062e");
}

TEST(Pairs, AreTheTokensOfTheDefinition) {
  const DataSet train = make_pairs(Split::Train, 1024, 64);
  EXPECT_EQ(train.name, "pairs");
  EXPECT_EQ(train.count, 1024);
  EXPECT_EQ(train.inputs.dims, std::vector<std::int64_t>{64});
  EXPECT_EQ(train.targets.as<std::int32_t>().size(), 1024U * 64);
  EXPECT_EQ(block(train, 0).substr(0, 8), std::string("\2\x9\xe\xf\4\x9\7\3"));
  EXPECT_EQ(block(train, 1).substr(0, 8), std::string("\1\1\6\x8\3\xe\xb\xf"));
  EXPECT_EQ(digest_of(train), "f483256257f0928899a1f40e6fb0e753");
  EXPECT_EQ(digest_of(make_pairs(Split::Test, 512, 64)), "f93fbddc536d58583a042bac107bfe75");
}

TEST(Pairs, ALongerContextBeginsWithTheShorterOne) {
  const DataSet narrow = make_pairs(Split::Train, 4, 8), wide = make_pairs(Split::Train, 4, 32);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_TRUE(block(wide, i).starts_with(block(narrow, i)));
}

/// The floors of 512 blocks are those of a plain Python program, from the ranks that it drew.
TEST(Pairs, HaveAFloorThatNoModelPasses) {
  EXPECT_NEAR(pairs_floor(make_pairs(Split::Test, 512, 64)), 1.2400201682008225, 1e-12);
  EXPECT_NEAR(pairs_floor(make_pairs(Split::Test, 512, 8)), 1.4066014074253579, 1e-12);
  EXPECT_DOUBLE_EQ(pairs_floor(make_pairs(Split::Test, 7, 1)), std::log(16.0));
}

}  // namespace
}  // namespace regatta::workloads
