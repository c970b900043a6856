// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/record/record_fields.h"
#include "harness/system/output_file.h"
#include "kernels/base/error.h"

namespace regatta::record {

const char* file_of(Kept kept) {
  return kept == Kept::Simulated ? system::kSimulatedRecords : system::kRealRecords;
}

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json to_json(const T& value) {
  return value;
}
Json to_json(Status status) { return to_string(status); }
Json to_json(const OptionValues& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) {
    std::visit([&object, &key = name](const auto& one) { object.emplace(key, one); }, value);
  }
  return object;
}
template <typename T>
Json to_json(const std::optional<T>& value);
template <typename T>
Json to_json(const std::vector<T>& values);
template <HasFields T>
Json to_json(const T& part) {
  Json object = Json::object();
  for_each_field(part, [&](const char* name, const auto& value, const auto&...) {
    object.emplace(name, to_json(value));
  });
  return object;
}

template <typename T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

template <typename T>
Json to_json(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

/// Requires finite numbers: JSON has no infinity and no NaN, and they must not become null
/// unnoticed.
void require_finite(const Json& json, const std::string& path) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      require_finite(value, path.empty() ? name : path + "." + name);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      require_finite(json[i], path + "[" + std::to_string(i) + "]");
    }
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    throw RunError(ErrorKind::Diverged, "cannot write the record: " + path + " is " +
                                            std::to_string(json.get<double>()) +
                                            ", not a finite number");
  }
}

}  // namespace

std::string speed_text(double examples_per_s, const std::optional<double>& tokens_per_s) {
  const auto text = [](double speed) {
    return speed < 100 ? fmt::format("{:.3g}", speed) : fmt::format("{:.0f}", speed);
  };
  const std::string examples = text(examples_per_s) + " examples/s";
  return tokens_per_s ? fmt::format("{}, {} tokens/s", examples, text(*tokens_per_s)) : examples;
}

std::string_view to_string(Status status) {
  switch (status) {
    case Status::Reached: return "reached";
    case Status::Missed: return "missed";
    case Status::Failed: return "failed";
  }
  return "unknown";
}

bool is_cancelled(const Record& record) {
  return record.failure && record.failure->kind == to_string(ErrorKind::Cancelled);
}

bool is_to_run_again(const Record& record) {
  const bool has_begun =
      record.training_ns > 0 || record.step_time_ns.count > 0 || !record.evaluations.empty();
  return is_cancelled(record) || (record.failure && !has_begun);
}

std::vector<std::pair<std::string, std::string>> lines_of(const Cell& cell) {
  std::vector<std::pair<std::string, std::string>> lines;
  const Json json = to_json(cell);
  for (const auto& [name, value] : json.items()) lines.emplace_back(name, value.dump());
  return lines;
}

std::string to_json_line(const Record& record) {
  Json json{{"schema", Record::kSchema}};
  json.update(to_json(record));
  require_finite(json, "");
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace regatta::record
