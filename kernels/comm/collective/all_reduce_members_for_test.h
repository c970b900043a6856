// SPDX-License-Identifier: Apache-2.0
//
// What tests of an all_reduce share, whatever carries it: a member's node, what the member
// contributes, and the memory that is exchanged.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/element.h"

namespace regatta::testing_support {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

inline float contribution(std::int64_t member, std::int64_t round, std::int64_t i) {
  return std::sin(static_cast<float>(member * 7919 + round * 104729 + i));
}

/// A value as the element type holds it.
inline float held(ElementType element, float value) {
  if (element == ElementType::F32) return value;
  Bf16 narrow{};
  store(narrow, value);
  return load(narrow);
}

/// How far a sum over `members` values of at most 1 may be from the true one: each member's value
/// and each of n - 1 partial sums of at most n is rounded, by 2^-24 or in bf16 by 2^-8.
inline double bound_of_sum(ElementType element, std::int64_t members) {
  const auto n = static_cast<double>(members);
  return n * n * (element == ElementType::F32 ? 0x1p-24 : 0x1p-8);
}

/// f32 values, and the memory in which they are exchanged: their own, or one of bf16.
class Exchanged {
 public:
  Exchanged(ElementType element, std::int64_t count)
      : values_(at(count)), narrow_(element == ElementType::F32 ? 0 : at(count)) {}

  std::vector<float>& values() { return values_; }
  const std::vector<float>& values() const { return values_; }
  void* memory() { return narrow_.empty() ? static_cast<void*>(values_.data()) : narrow_.data(); }
  /// Around an exchange.
  void open() {
    for (std::size_t i = 0; i < narrow_.size(); ++i) store(narrow_[i], values_[i]);
  }
  void close() {
    for (std::size_t i = 0; i < narrow_.size(); ++i) values_[i] = load(narrow_[i]);
  }

 private:
  std::vector<float> values_;
  std::vector<Bf16> narrow_;  ///< empty: f32 is exchanged
};

/// Member of a collective whose members 0, 1, … live in `processes`.
inline Node node_of(const std::string& algorithm, const std::vector<std::int64_t>& processes,
                    std::int64_t member, std::int64_t group) {
  Node node{.op = Op::AllReduce,
            .attributes = {{"group", group},
                           {"members", std::ssize(processes)},
                           {"algorithm", algorithm},
                           {"processes", processes}},
            .inputs = {},
            .variables = {},
            .outputs = {},
            .place = {},
            .member = member,
            .phase = Phase::Communication,
            .layer = {}};
  node.place.replica = static_cast<int>(member);
  return node;
}

}  // namespace regatta::testing_support
