// SPDX-License-Identifier: Apache-2.0
#include "harness/record/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/record/record_fields.h"

namespace regatta::record {
namespace {

using Json = nlohmann::ordered_json;

/// A field of older records.
struct FormerField {
  const char* path;  ///< path of the object that had the field
  const char* name;
  int until;  ///< the last version that may have it
  const char* type;
  const char* text;
};

constexpr FormerField kFormerFields[] = {
    {"/properties/cell", "all_reduce", 1, "string", "Option of the strategy; null if it has none."},
    {"/properties/cell", "bucket_bytes", 1, "integer", "Option of the strategy. Units: bytes."},
    {"/properties/cell", "sharing", 1, "string", "Option of the strategy."},
    {"/properties/cell", "servers", 1, "integer", "Option of the strategy."},
    {"/properties/cell", "backup_workers", 1, "integer", "Option of the strategy."},
    {"/properties/cell", "staleness_bound", 1, "integer", "Option of the strategy."},
    {"/properties/graph", "picked_by", 11, "string",
     "Digest of the calibration whose costs picked the algorithms of auto, from version 9 on."},
};

constexpr std::pair<int, const char*> kCommentsOnVersions[] = {
    {2,
     "Records of version 1 were written while fields were added: they have some of these. Their "
     "data_order is a digest of the order that the seed gives, not of the consumed examples."},
    {5, "Records of earlier versions are of real runs."},
    {9, "Records of versions 9 to 11 have auto as an algorithm, and the calibration that picked."},
};

/// Conditions between fields.
constexpr const char* kConditions = R"([
  {"$comment": "Times to the target exist if it was reached, and only then.",
   "if": {"properties": {"status": {"const": "reached"}}},
   "then": {"properties": {"training_time_to_target_ns": {"type": "integer"},
                           "full_time_to_target_ns": {"type": "integer"},
                           "result_time_to_target_ns": {"type": "integer"},
                           "examples_to_target": {"type": "integer"}}},
   "else": {"properties": {"training_time_to_target_ns": {"type": "null"},
                           "full_time_to_target_ns": {"type": "null"},
                           "result_time_to_target_ns": {"type": "null"},
                           "examples_to_target": {"type": "null"}}}},
  {"$comment": "A failed run has a reason, and only a failed run.",
   "if": {"properties": {"status": {"const": "failed"}}},
   "then": {"properties": {"failure": {"type": "object"}}},
   "else": {"properties": {"failure": {"type": "null"}}}}
])";

/// The unit that a field's name ends in; empty if it has none.
std::string_view unit_in(std::string_view name) {
  for (const auto& [ending, unit] : {std::pair("_ns", "nanoseconds"),
                                     {"examples_per_s", "examples per second"},
                                     {"bytes_per_s", "bytes per second"},
                                     {"bytes", "bytes"},
                                     {"examples", "examples"}}) {
    if (name.ends_with(ending)) return unit;
  }
  return "";
}

std::string description_of(std::string_view name, const About& about) {
  const std::string_view unit = about.unit.empty() ? unit_in(name) : about.unit;
  return std::string(about.text) + (unit.empty() ? "" : fmt::format(" Units: {}.", unit));
}

/// Declares the fields of a struct whose room does not depend on records.
template <typename T>
About about_of(const char* name) {
  static_assert(std::same_as<T, KernelChoice>);
  return {.text = std::string_view(name) == "node"
                      ? "Op and layer."
                      : "The library with its engine or algorithm, or our own kernel and why."};
}
template <typename T>
About about_of(const char*, const About& about, auto...) {
  return about;
}

class Schema {
 public:
  Json whole() {
    Json json = {
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", "Regatta record"},
        {"$comment", "SPDX-License-Identifier: Apache-2.0"},
        {"description",
         "One run of one cell: a line of records.jsonl. Generated from the declarations in "
         "harness/record (schema.h), so no one edits it. Records are never edited; $defs has the "
         "fields that a version requires beyond the version before it."}};
    json.update(object_of(Record{}, ""));
    std::vector<int> versions(Record::kSchema);
    std::iota(versions.begin(), versions.end(), 1);
    json["required"].insert(json["required"].begin(), "schema");
    Json properties = {
        {"schema", {{"description", "Version of this definition."}, {"enum", versions}}}};
    properties.update(json["properties"]);
    json["properties"] = std::move(properties);
    Json conditions = Json::parse(kConditions);
    for (auto& [version, added] : since_) {
      const std::string name = fmt::format("since_{}", version);
      json["$defs"][name] = std::move(added);
      conditions.push_back({{"if", {{"properties", {{"schema", {{"minimum", version}}}}}}},
                            {"then", {{"$ref", "#/$defs/" + name}}}});
    }
    for (const auto& [version, comment] : kCommentsOnVersions) {
      json["$defs"][fmt::format("since_{}", version)]["$comment"] = comment;
    }
    json["allOf"] = std::move(conditions);
    return json;
  }

 private:
  /// `path`: that of the schema, as a JSON pointer.
  template <HasFields T>
  Json object_of(const T& part, const std::string& path) {
    Json required = Json::array();
    Json properties = Json::object();
    for_each_field(part, [&](const char* name, const auto& member, const auto&... more) {
      const About about = about_of<T>(name, more...);
      const std::string own = fmt::format("{}/properties/{}", path, name);
      if (about.since == 1) required.push_back(name);
      if (about.since > 1) at(about.since, path + "/required").push_back(name);
      properties[name] = {{"description", description_of(name, about)}};
      properties[name].update(type_of(member, about, own));
    });
    for (const FormerField& former : kFormerFields) {
      if (path != former.path) continue;
      properties[former.name] = {{"description", former.text}, {"type", {former.type, "null"}}};
      at(former.until + 1, fmt::format("{}/properties/{}", path, former.name)) = false;
    }
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", std::move(required)},
            {"properties", std::move(properties)}};
  }

  Json& at(int version, const std::string& path) {
    return since_[version][Json::json_pointer(path)];
  }

  template <HasFields T>
  Json type_of(const T& part, const About&, const std::string& path) {
    return object_of(part, path);
  }
  Json type_of(bool, const About&, const std::string&) { return {{"type", "boolean"}}; }
  template <typename T>
  requires std::is_arithmetic_v<T> Json type_of(T, const About& about, const std::string&) {
    Json json = {{"type", std::is_integral_v<T> ? "integer" : "number"}};
    if (about.above) {
      json["exclusiveMinimum"] = static_cast<std::int64_t>(*about.above);
    } else if (about.least >= 0) {
      json["minimum"] = static_cast<std::int64_t>(about.least);
    }
    return json;
  }
  Json type_of(const std::string&, const About& about, const std::string&) {
    if (!about.values.empty()) {
      Json values = Json::array();
      std::istringstream words{std::string(about.values)};
      for (std::string word; std::getline(words, word, '|');) values.push_back(word);
      return {{"enum", std::move(values)}};
    }
    Json json = {{"type", "string"}};
    if (!about.pattern.empty()) json["pattern"] = about.pattern;
    return json;
  }
  Json type_of(Status, const About& about, const std::string& path) {
    return type_of(std::string(), about, path);
  }
  Json type_of(const OptionValues&, const About&, const std::string&) {
    return {{"type", "object"}, {"additionalProperties", {{"type", {"number", "string"}}}}};
  }
  Json type_of(const std::map<std::string, std::string>&, const About&, const std::string&) {
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
  template <typename T>
  Json type_of(const std::vector<T>&, const About& about, const std::string& path) {
    Json items = {{"description", about.each}};
    items.update(type_of(T{}, About{}, path + "/items"));
    return {{"type", "array"}, {"items", std::move(items)}};
  }
  template <typename T>
  Json type_of(const std::optional<T>&, const About& about, const std::string& path) {
    Json json = type_of(T{}, about, path);
    if (json.contains("enum")) json["enum"].push_back(nullptr);
    if (json.contains("type")) json["type"] = {json["type"], "null"};
    return json;
  }

  std::map<int, Json> since_;  ///< definitions of what a version adds
};

/// Formats a value in one line if that is short or has no objects within, else in a line for each
/// member.
std::string text_of(const Json& json, std::size_t indent) {
  constexpr std::size_t kColumns = 100;
  if (!json.is_structured()) return json.dump();
  const char begin = json.is_object() ? '{' : '[', end = json.is_object() ? '}' : ']';
  const std::string inner = '\n' + std::string(indent + 2, ' ');
  bool has_parts = false;
  std::string line, lines;
  for (const auto& [name, value] : json.items()) {
    const std::string key = json.is_object() ? Json(name).dump() + ": " : "";
    line += (line.empty() ? "" : ", ") + key + text_of(value, 0);
    lines += (lines.empty() ? "" : ",") + inner + key + text_of(value, indent + 2);
    has_parts = has_parts || value.is_object() ||
                (value.is_array() && !value.empty() && value.front().is_object());
  }
  const bool fits = line.size() + indent < kColumns && line.find('\n') == line.npos;
  if (fits || !has_parts) return begin + line + end;
  return begin + lines + '\n' + std::string(indent, ' ') + end;
}

}  // namespace

std::string record_schema() { return text_of(Schema().whole(), 0) + '\n'; }

}  // namespace regatta::record
