// SPDX-License-Identifier: Apache-2.0
#include "harness/run/assemble.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace regatta::run {

std::vector<std::vector<float>> assemble(std::span<const VariableCopy> copies,
                                         const std::string& name) {
  std::vector<std::vector<float>> all;
  std::map<std::string, std::size_t> met;  // the n-th copy of a part belongs to the n-th whole
  std::set<std::pair<int, Role>> owners;   // owners of whole variables
  for (const auto& [variable, tensor, version, model] : copies) {
    if (variable.judged_name() != name) continue;
    const bool is_part = variable.part_of.has_value();
    const Place& place = variable.place;
    if (!is_part && !owners.emplace(place.replica, place.role).second) continue;  // a shard's equal
    const std::size_t whole = is_part ? met[variable.name]++ : all.size();
    const TensorType& type = is_part ? variable.part_of->type : variable.type;
    if (whole == all.size()) all.emplace_back(static_cast<std::size_t>(type.elements()));
    for (const Stretch& each : variable.stretches()) {
      std::copy_n(tensor.f32() + each.in_part, each.count, all[whole].begin() + each.in_whole);
    }
  }
  return all;
}

}  // namespace regatta::run
