// SPDX-License-Identifier: Apache-2.0
#include "harness/run/assemble.h"

#include <gtest/gtest.h>

#include <list>

namespace regatta::run {
namespace {

using Values = std::vector<float>;

/// Variables with values in the form of a trainer's copies.
class CopiesByHand {
 public:
  void add(const Variable& variable, Values values) {
    variables_.push_back(variable);
    values_.push_back(std::move(values));
    copies_.push_back({.variable = variables_.back(),
                       .tensor = {.type = variable.type, .data = values_.back().data()}});
  }
  std::vector<Values> assembled(const std::string& name) const { return assemble(copies_, name); }

 private:
  std::list<Variable> variables_;
  std::list<Values> values_;
  std::vector<VariableCopy> copies_;
};

Variable whole(std::vector<std::int64_t> dims, Place place) {
  return {
      .name = "w", .type = {ElementType::F32, std::move(dims)}, .initializer = {}, .place = place};
}

/// A part of w [2, 3]: columns `begin` to `end`.
Variable columns(std::int64_t begin, std::int64_t end, Place place) {
  Variable part = whole({2, end - begin}, place);
  part.name = "w[:," + std::to_string(begin) + ':' + std::to_string(end) + ']';
  part.part_of = PartOf{.name = "w", .type = {ElementType::F32, {2, 3}}, .row = begin, .along = 1};
  return part;
}

TEST(Assemble, GivesTheCopyOfEachReplica) {
  CopiesByHand copies;
  copies.add(whole({2}, {.replica = 0}), {1, 2});
  copies.add(whole({2}, {.replica = 1}), {3, 4});
  EXPECT_EQ(copies.assembled("w"), (std::vector<Values>{{1, 2}, {3, 4}}));
  EXPECT_EQ(copies.assembled("v"), std::vector<Values>{});
}

TEST(Assemble, JoinsTheShardsOfEachReplica) {
  CopiesByHand copies;
  copies.add(columns(0, 2, {.replica = 0, .stage = 0}), {1, 2, 4, 5});
  copies.add(columns(2, 3, {.replica = 0, .stage = 1}), {3, 6});
  copies.add(columns(0, 2, {.replica = 1, .stage = 0}), {11, 12, 14, 15});
  copies.add(columns(2, 3, {.replica = 1, .stage = 1}), {13, 16});
  EXPECT_EQ(copies.assembled("w"),
            (std::vector<Values>{{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}}));
}

TEST(Assemble, JoinsPartsThatReplicasShare) {
  CopiesByHand copies;
  for (const int replica : {0, 1}) {
    Variable half = whole({2}, {.replica = replica});
    half.name = replica == 0 ? "w[0:2]" : "w[2:4]";
    half.part_of = PartOf{.name = "w", .type = {ElementType::F32, {2, 2}}, .row = 2 * replica};
    copies.add(half, replica == 0 ? Values{1, 2} : Values{3, 4});
  }
  EXPECT_EQ(copies.assembled("w"), (std::vector<Values>{{1, 2, 3, 4}}));
}

TEST(Assemble, TakesWhatAllShardsOfAReplicaHaveOnce) {
  CopiesByHand copies;
  for (const int replica : {0, 1}) {
    for (const int shard : {0, 1}) {
      copies.add(whole({1}, {.replica = replica, .shard = shard}), {static_cast<float>(replica)});
    }
  }
  EXPECT_EQ(copies.assembled("w"), (std::vector<Values>{{0}, {1}}));
}

}  // namespace
}  // namespace regatta::run
