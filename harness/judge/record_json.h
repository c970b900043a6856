// SPDX-License-Identifier: Apache-2.0
//
// Converts parts of records to JSON, for the files that write the judgement.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "harness/judge/simulated_judgement.h"
#include "harness/record/record_fields.h"

namespace regatta::judgement_json {

using Json = nlohmann::ordered_json;

template <typename T>
Json plain(const T& value) {
  return value;
}
template <typename T>
Json plain(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Converts `part` to a JSON object of its fields, none of which may be a part of a record itself.
template <HasFields T>
Json object_of(const T& part) {
  Json object = Json::object();
  for_each_field(part, [&](const char* name, const auto& value, const auto&...) {
    object.emplace(name, plain(value));
  });
  return object;
}

inline Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
inline Json finite(const std::optional<double>& value) {
  return value ? finite(*value) : Json(nullptr);
}

/// Converts the run's cell to JSON as in the record, without the seed.
inline Json cell_json(const Record& run) {
  Json cell = Json::object();
  for (const auto& [name, value] : lines_of(run.cell)) {
    if (name != "seed") cell.emplace(name, Json::parse(value));
  }
  return cell;
}

/// Converts the parts of a worker's step to a JSON object by name. Units: seconds.
inline Json step_json(const CellJudgement& cell) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < kStepParts.size(); ++i) {
    parts.emplace(kStepParts[i], cell.step_seconds[i]);
  }
  return parts;
}

/// Converts studies of runs in virtual time to JSON; defined in simulated_json.cpp.
Json simulated_json(std::span<const SimulatedStudy> studies);

}  // namespace regatta::judgement_json
