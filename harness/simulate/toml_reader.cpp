// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "kernels/base/names.h"

namespace regatta::simulate {
namespace {

constexpr std::size_t kMostLine = 4096;  // characters: toml++ parses brackets recursively
constexpr std::size_t kMostRows = 100;

}  // namespace

toml::table parse_toml(const std::string& text, const std::string& source) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() <= kMostLine) continue;
    throw RunError(ErrorKind::Usage, fmt::format("{}: a line has more than the {} characters that "
                                                 "are read",
                                                 source, kMostLine));
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw RunError(ErrorKind::Usage, fmt::format("{}, line {}: {}", source,
                                                 error.source().begin.line, error.description()));
  }
}

void TomlReader::allow(const toml::table& table, const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      throw error(unknown_name("key", name, keys).what());
    }
  }
}

std::int64_t TomlReader::whole(const toml::table& table, const char* key, std::int64_t by_default,
                               std::array<std::int64_t, 2> range) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return by_default;
  const auto value = node->value_exact<std::int64_t>();
  if (!value || *value < range[0] || *value > range[1]) {
    throw error(fmt::format("{} is a whole number from {} to {}", key, range[0], range[1]));
  }
  return *value;
}

std::optional<double> TomlReader::real(const toml::table& table, const char* key,
                                       NumberRange range) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  return in_range(*node, key, range);
}

double TomlReader::in_range(const toml::node& node, const char* what, NumberRange range) const {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (value && *value >= range[0] && *value <= range[1]) return *value;
  throw error(fmt::format("{} is a number from {} to {}", what, range[0], range[1]));
}

std::string TomlReader::word(const toml::table& table, const char* key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return "";
  const auto value = node->value<std::string>();
  if (value && node->is_string() && !value->empty()) return *value;
  throw error(fmt::format("{} is a word in quotes", key));
}

std::vector<std::vector<double>> TomlReader::rows(const toml::table& table, const char* key,
                                                  const std::vector<NumberRange>& ranges) const {
  std::vector<std::vector<double>> all;
  const toml::node* node = table.get(key);
  if (node == nullptr) return all;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->size() > kMostRows) {
    throw error(fmt::format("{} is a list of at most {} lists", key, kMostRows));
  }
  for (const toml::node& each : *list) {
    const toml::array* row = each.as_array();
    if (row == nullptr || row->size() != ranges.size()) {
      throw error(fmt::format("{} has lists of {} numbers", key, ranges.size()));
    }
    std::vector<double>& made = all.emplace_back();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      made.push_back(in_range((*row)[i], key, ranges[i]));
    }
  }
  return all;
}

}  // namespace regatta::simulate
