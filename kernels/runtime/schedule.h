// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a node's piecewise linear schedule. Units: examples seen by all loops together.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph/attributes.h"

namespace regatta {

class ScheduleFunction {
 public:
  /// Reads `schedule_examples` and `schedule_values`.
  explicit ScheduleFunction(const Attributes& attributes)
      : examples_(attributes.reals("schedule_examples")),
        values_(attributes.reals("schedule_values")) {}

  double operator()(std::int64_t examples) const {
    const auto x = static_cast<double>(examples);
    if (x <= examples_.front()) return values_.front();
    for (std::size_t i = 1; i < examples_.size(); ++i) {
      if (x >= examples_[i]) continue;
      const double share = (x - examples_[i - 1]) / (examples_[i] - examples_[i - 1]);
      return values_[i - 1] + share * (values_[i] - values_[i - 1]);
    }
    return values_.back();
  }

 private:
  std::vector<double> examples_;
  std::vector<double> values_;
};

}  // namespace regatta
