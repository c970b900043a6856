// SPDX-License-Identifier: Apache-2.0
#include "harness/run/assemble.h"

#include <algorithm>

namespace regatta {

std::vector<std::vector<float>> assemble(std::span<const VariableCopy> copies,
                                         const std::string& name) {
  std::vector<std::vector<float>> all;
  std::vector<float> in_parts;
  for (const auto& [variable, tensor, version, model] : copies) {
    if (variable->whole_name() != name) continue;
    const float* values = tensor.f32();
    if (!variable->part_of) {
      all.emplace_back(values, values + tensor.elements());
      continue;
    }
    in_parts.resize(static_cast<std::size_t>(variable->part_of->type.elements()));
    std::copy_n(values, tensor.elements(), in_parts.begin() + variable->first_element());
  }
  if (!in_parts.empty()) all.push_back(std::move(in_parts));
  return all;
}

}  // namespace regatta
