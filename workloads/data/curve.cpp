// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/curve.h"

namespace regatta::workloads {

DataSet make_curve() {
  constexpr int kPoints = 50;
  constexpr int kSteps = kPoints - 1;
  DataSet data{.name = "curve", .count = kPoints, .inputs = {{1}}, .targets = {{1}}};
  for (int i = 0; i < kPoints; ++i) {
    const int numerator = 4 * i - 2 * kSteps;  // exact, so the curve is symmetric to the last bit
    data.inputs.as<float>().push_back(static_cast<float>(numerator / double{kSteps}));
    data.targets.as<float>().push_back(
        static_cast<float>(numerator * numerator / double{kSteps * kSteps}));
  }
  return data;
}

}  // namespace regatta::workloads
