// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a node's piecewise linear schedule, such as that of a learning rate, at the number of
// examples that all loops together have seen.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "kernels/graph/attributes.h"

namespace regatta {

/// Returns the value after `seen` examples of the piecewise linear function through the points
/// (examples[i], values[i]), i < points. It is constant before the first point and after the last.
constexpr double scheduled(const double* examples, const double* values, std::int64_t points,
                           std::int64_t seen) {
  const auto x = static_cast<double>(seen);
  if (x <= examples[0]) return values[0];
  for (std::int64_t i = 1; i < points; ++i) {
    if (x >= examples[i]) continue;
    const double share = (x - examples[i - 1]) / (examples[i] - examples[i - 1]);
    return values[i - 1] + share * (values[i] - values[i - 1]);
  }
  return values[points - 1];
}

class ScheduleFunction {
 public:
  /// Reads the points from the attributes `schedule_examples` and `schedule_values`.
  explicit ScheduleFunction(const Attributes& attributes)
      : examples_(attributes.reals("schedule_examples")),
        values_(attributes.reals("schedule_values")) {}

  double operator()(std::int64_t examples) const {
    return scheduled(examples_.data(), values_.data(), std::ssize(examples_), examples);
  }

 private:
  std::vector<double> examples_;
  std::vector<double> values_;
};

}  // namespace regatta
