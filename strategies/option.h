// SPDX-License-Identifier: Apache-2.0
//
// An option that strategies declare. A flag of `regatta run`, a key of matrix files, a field of
// `cell.options` in records, its range check, and that cells with different values are different
// cells all follow from the declaration.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace regatta {

using OptionValue = std::variant<std::int64_t, std::string>;
using OptionValues = std::map<std::string, OptionValue, std::less<>>;  ///< by the option's name

/// A whole number from `least` to `most`.
struct Count {
  std::optional<std::int64_t> usual;  ///< empty: an option that is left out has no value
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// One of some words.
struct Choice {
  std::string_view usual;
  std::span<const std::string_view> words;
};

struct Option {
  std::string_view name;  ///< such as `staleness_bound`; the flag is `--staleness-bound`
  std::string_view help;  ///< what it says, without its words, range and default
  std::string_view unit;  ///< of a count; empty: it counts what its name says
  std::variant<Count, Choice> type;

  std::string flag() const;
  /// What holds where a user gives no value.
  std::optional<OptionValue> usual() const;
  /// Throws: RunError(Usage) for a value out of range or a word that is none of the choice.
  void check(const OptionValue& value) const;
};

/// For a strategy's declaration: `options<kServers, kBucketBytes>`.
template <const Option&... declared>
inline constexpr std::array<const Option*, sizeof...(declared)> options = {&declared...};

std::string to_text(const OptionValue& value);

/// How a strategy is applied.
struct StrategyOptions {
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  OptionValues given = {};  ///< those that a user has chosen

  /// The value given, or the usual one.
  std::optional<OptionValue> find(const Option& option) const;
  /// Of a count that always has a value.
  std::int64_t count(const Option& option) const;
  /// Of a count that may have none.
  std::optional<std::int64_t> count_if_any(const Option& option) const;
  std::string choice(const Option& option) const;
};

}  // namespace regatta
