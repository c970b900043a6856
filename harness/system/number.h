// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people write them on a command line: decimal digits, whatever zeros stand before them,
// and nothing else around. A real number is finite. And as people read them: `1 seed`, `5 seeds`.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace regatta {

/// The values that a flag takes.
template <typename T>
struct NumberRange {
  enum class Least { Included, Excluded };
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
  Least bound = Least::Included;  ///< whether `least` is one of them
};

/// Throws: RunError(Usage) that begins with `flag`.
template <typename T>
requires std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>
    T parse_number(std::string_view flag, std::string_view text, const NumberRange<T>& range = {});

/// `1 seed`, `5 seeds`
std::string plural(std::int64_t count, std::string_view noun);

}  // namespace regatta
