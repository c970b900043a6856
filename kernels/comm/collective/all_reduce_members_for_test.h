// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of every transport's all_reduce: a member's node, its contribution, and the
// memory that is exchanged.
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

/// Returns `value` rounded to the element type.
inline float held(ElementType element, float value) {
  if (element == ElementType::F32) return value;
  Bf16 narrow{};
  store(narrow, value);
  return load(narrow);
}

/// Error bound of a sum over `members` values of at most 1: each member's value and each of n - 1
/// partial sums of at most n is rounded, by 2^-24 or in bf16 by 2^-8.
inline double bound_of_sum(ElementType element, std::int64_t members) {
  const auto n = static_cast<double>(members);
  return n * n * (element == ElementType::F32 ? 0x1p-24 : 0x1p-8);
}

/// f32 values and the memory that is exchanged: the values themselves, or a bf16 copy.
class Exchanged {
 public:
  Exchanged(ElementType element, std::int64_t count)
      : values_(at(count)), narrow_(element == ElementType::F32 ? 0 : at(count)) {}

  std::vector<float>& values() { return values_; }
  const std::vector<float>& values() const { return values_; }
  void* memory() { return narrow_.empty() ? static_cast<void*>(values_.data()) : narrow_.data(); }
  /// open() goes before an exchange, close() after it.
  void open() {
    for (std::size_t i = 0; i < narrow_.size(); ++i) store(narrow_[i], values_[i]);
  }
  void close() {
    for (std::size_t i = 0; i < narrow_.size(); ++i) values_[i] = load(narrow_[i]);
  }

 private:
  std::vector<float> values_;
  std::vector<Bf16> narrow_;  ///< empty if f32 is exchanged
};

/// The node of a member of a collective; members 0, 1, … run in `processes`.
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
