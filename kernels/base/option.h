// SPDX-License-Identifier: Apache-2.0
//
// Options that strategies and workloads declare. Each declaration yields a flag of `regatta run`, a
// key in matrix files, a field of `cell.options` in records, and a range check. Runs with different
// values of an option belong to different cells.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

using OptionValue = std::variant<std::int64_t, double, std::string>;
using OptionValues = std::map<std::string, OptionValue, std::less<>>;  ///< keyed by name

/// The type of an option whose value is a whole number from `least` to `most`.
struct Count {
  std::optional<std::int64_t> default_value;  ///< empty: no value unless the user gives one
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// The type of an option whose value is a number from `least` to `most`.
struct Real {
  double default_value = 0;
  double least = 0;
  double most = 0;
};

/// The type of an option whose value is one word of a fixed list.
struct Choice {
  std::string_view default_value;
  std::span<const std::string_view> words;
};

/// The type of an option whose value is a list of whole numbers of at least 1, separated by commas.
/// It has no default.
struct Counts {};

/// The type of an option whose value is the size of a torus, columns by rows, such as `4x2`, each 1
/// or more. It has no default.
struct Sides {};

struct Option {
  std::string_view name;  ///< such as `staleness_bound`; the flag is `--staleness-bound`
  std::string_view help;  ///< the program adds a choice's words, range and default
  std::string_view unit;  ///< unit of a count; empty: the name implies it
  std::variant<Count, Real, Choice, Counts, Sides> type;

  std::string flag() const;
  /// Returns the default; empty if there is none.
  std::optional<OptionValue> default_value() const;
  /// Checks a value. Throws: RunError(Usage) if it has another type, is out of range, is not one of
  /// the choice's words, or is not a valid list of counts or sides.
  void check(const OptionValue& value) const;
};

std::string to_text(const OptionValue& value);

/// Options that were given, with the other options' defaults.
struct ChosenOptions {
  OptionValues given = {};

  /// Returns the given value, or else the default; empty if there is neither.
  std::optional<OptionValue> find(const Option& option) const;
  /// Returns the value of a count that has a default.
  std::int64_t count(const Option& option) const;
  /// Returns the value of a count that has no default; empty if none was given.
  std::optional<std::int64_t> count_if_any(const Option& option) const;
  /// Returns the given list; empty if none was given.
  std::vector<std::int64_t> counts(const Option& option) const;
  double real(const Option& option) const;
  std::string choice(const Option& option) const;
  /// Returns the given columns and rows; empty if none were given.
  std::optional<std::pair<std::int64_t, std::int64_t>> sides_if_any(const Option& option) const;
};

/// Joins names to a phrase, such as `parameter_server and parameter_server_async`.
std::string enumerated(std::span<const std::string_view> names);

/// A strategy, composition or workload with the options that it declares.
struct OptionOwner {
  std::string title;  ///< such as `strategy 'single'`
  std::vector<const Option*> options;
};

/// Checks those of the given values that belong to options in `all`. Throws: RunError(Usage) for an
/// invalid value, and for an option that the owner does not declare; the message names those that
/// do, by `declarers`, and the owner's options.
void check_options(const OptionValues& given, const OptionOwner& owner,
                   std::span<const Option* const> all, std::string (*declarers)(const Option&));

}  // namespace regatta
