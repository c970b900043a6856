// SPDX-License-Identifier: Apache-2.0
//
// Attributes for tests of updates.
#pragma once

#include <vector>

#include "kernels/graph/attributes.h"

namespace regatta::cpu::test {

/// Adds a schedule from 0 to 100 examples.
inline Attributes with_schedule(Attributes attributes, const std::vector<double>& values) {
  attributes.set("schedule_examples", std::vector<double>{0, 100});
  attributes.set("schedule_values", values);
  return attributes;
}

inline Attributes sgd_attributes(double momentum, std::int64_t nesterov) {
  return with_schedule(
      {{"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", 0.01}, {"weight", 0.5}},
      {0.1, 0.2});
}

}  // namespace regatta::cpu::test
