// SPDX-License-Identifier: Apache-2.0
//
// Parses numbers on a command line, which are decimal: no other base, no blanks or units, and
// leading zeros are allowed. Real numbers must be finite. Also formats counts: `1 seed`, `5 seeds`.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace regatta::system {

/// The values that a flag accepts.
template <typename T>
struct NumberRange {
  enum class Least { Included, Excluded };
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
  Least bound = Least::Included;  ///< whether `least` itself is accepted
};

/// Parses a number in `range`. Throws: RunError(Usage) whose message begins with `flag`.
template <typename T>
requires std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>
    T parse_number(std::string_view flag, std::string_view text, const NumberRange<T>& range = {});

/// Formats a count with its noun: `1 seed`, `5 seeds`.
std::string plural(std::int64_t count, std::string_view noun);

}  // namespace regatta::system
