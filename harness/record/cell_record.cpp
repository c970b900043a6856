// SPDX-License-Identifier: Apache-2.0
#include "harness/record/cell_record.h"

#include <fmt/format.h>

#include <type_traits>

namespace regatta::record {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(const ProgramCell& value) { return value.digest; }
std::string text_of(bool value) { return value ? "yes" : "no"; }
template <typename T>
requires std::is_arithmetic_v<T> std::string text_of(T value) { return fmt::format("{}", value); }
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "none";
}
std::string text_of(const std::vector<Straggler>& stragglers) { return straggler_text(stragglers); }
std::string text_of(const OptionValues& options) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : options) {
    texts.push_back(fmt::format("{}={}", name, to_text(value)));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<CellText> texts_of(const Cell& cell) {
  std::vector<CellText> texts;
  for_each_field(cell, [&](const char* name, const auto& value, const About&, CellPart part) {
    texts.push_back({.name = name, .text = text_of(value), .part = part});
  });
  return texts;
}

std::string straggler_text(const std::vector<Straggler>& stragglers) {
  std::vector<std::string> texts;
  for (const Straggler& each : stragglers) {
    texts.push_back(fmt::format("{}:{}", each.worker, each.factor));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace regatta::record
