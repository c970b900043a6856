// SPDX-License-Identifier: Apache-2.0
//
// Declares flags that take a value. All are parsed by the same rules: a value must not be empty, a
// number must be decimal, finite and in range, and every error names the flag. CLI11's own
// conversions are not used, because they differ by type and version (some read 010 as octal, -1 as
// the largest number or an empty text as 0).
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

namespace regatta::plan {

template <typename T>
concept FlagNumber =
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>;

/// Returns the name of the number's type for the help.
template <FlagNumber T>
constexpr const char* type_text() {
  return std::same_as<T, double> ? "FLOAT" : std::same_as<T, std::uint64_t> ? "UINT" : "INT";
}

/// Declares a flag or a positional argument that sets `value`, which must outlive parsing. The help
/// shows the present `value` as the default, unless it is empty.
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

/// Declares a flag with a number in `range`. `Value` is a FlagNumber or a std::optional of one.
template <typename Value,
          FlagNumber T = typename decltype(std::optional(std::declval<Value>()))::value_type>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value,
                       const std::string& help, system::NumberRange<T> range = {}) {
  const auto take = [&value, name, range](const std::string& text) {
    value = system::parse_number<T>(name, text, range);
  };
  CLI::Option* option =
      app.add_option_function<std::string>(name, take, help)->type_name(type_text<T>());
  if constexpr (std::same_as<Value, T>) option->default_str(fmt::format("{}", value));
  return option;
}

/// Declares --data-dir, the folder of the data set that a run trains on.
void add_data_dir(CLI::App& app, std::string& folder);

/// Declares --overwrite, which sets `if_there`. `what` names the file or folder to replace, for the
/// help.
void add_overwrite(CLI::App& app, system::IfThere& if_there, const std::string& what);

/// Parses the command line, whose first word is the program's name.
/// Throws: RunError(Usage) for an empty word or value and for all parse errors, with the text of
/// explain(); CLI::Success if the help or the version was requested.
void parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace regatta::plan
