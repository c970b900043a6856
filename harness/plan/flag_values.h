// SPDX-License-Identifier: Apache-2.0
//
// Flags with a value, all read by one parser: a value is never empty, a number is decimal, finite
// and in its range, and an error names the flag. CLI11's own conversions differ by type and version
// (octal, -1 read as the largest number, an empty text read as 0).
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "harness/system/number.h"
#include "harness/system/output_file.h"

namespace regatta {

template <typename T>
concept FlagNumber =
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>;

/// The name of a number's type in the help.
template <FlagNumber T>
constexpr const char* type_text() {
  return std::same_as<T, double> ? "FLOAT" : std::same_as<T, std::uint64_t> ? "UINT" : "INT";
}

/// Declares a flag or a positional argument. `value` must outlive parsing; unless it is empty the
/// help shows it as the default.
inline CLI::Option* add_value(CLI::App& app, const std::string& name, std::string& value,
                              const std::string& help) {
  CLI::Option* option = app.add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, help);
  return value.empty() ? option : option->default_str(value);
}

inline CLI::Option* add_value(CLI::App& app, const std::string& name,
                              std::optional<std::string>& value, const std::string& help) {
  return app.add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, help);
}

/// `Value`: a FlagNumber or an optional of one; std::optional(Value) is the same type for both.
template <typename Value,
          FlagNumber T = typename decltype(std::optional(std::declval<Value>()))::value_type>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value,
                       const std::string& help, NumberRange<T> range = {}) {
  const auto take = [&value, name, range](const std::string& text) {
    value = parse_number<T>(name, text, range);
  };
  CLI::Option* option =
      app.add_option_function<std::string>(name, take, help)->type_name(type_text<T>());
  if constexpr (std::same_as<Value, T>) option->default_str(fmt::format("{}", value));
  return option;
}

/// Declares --overwrite; the help names `what` as the thing that it replaces.
void add_overwrite(CLI::App& app, IfThere& if_there, const std::string& what);

/// Parses the command line, whose first word is the program's name.
/// Throws: RunError(Usage) for an empty word or value and for the errors that explain() describes;
/// CLI::Success if help or the version was asked for.
void parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace regatta
