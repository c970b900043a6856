// SPDX-License-Identifier: Apache-2.0
#include "harness/system/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "kernels/base/error.h"

namespace regatta::system {
namespace {

template <typename T>
std::string text_of(const NumberRange<T>& range) {
  const NumberRange<T> all;
  const bool excluded = range.bound == NumberRange<T>::Least::Excluded;
  const std::string kind = std::integral<T> ? "a whole number" : "a finite decimal number";
  if (std::unsigned_integral<T> && range.most == all.most) return kind + " from 0 to 2^64 - 1";
  const std::string least = range.least == all.least
                                ? ""
                                : fmt::format(" {} {}", excluded ? "above" : "from", range.least);
  const std::string most = range.most == all.most ? "" : fmt::format(" to {}", range.most);
  return kind + least + most;
}

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(std::integral auto) { return true; }

}  // namespace

template <typename T>
requires std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>
    T parse_number(std::string_view flag, std::string_view text, const NumberRange<T>& range) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool above =
      range.bound == NumberRange<T>::Least::Included ? value >= range.least : value > range.least;
  if (error == std::errc() && rest == end && is_finite(value) && above && value <= range.most) {
    return value;
  }
  throw RunError(ErrorKind::Usage, fmt::format("{}: '{}' is not {}", flag, text, text_of(range)));
}

template std::int64_t parse_number(std::string_view, std::string_view,
                                   const NumberRange<std::int64_t>&);
template std::uint64_t parse_number(std::string_view, std::string_view,
                                    const NumberRange<std::uint64_t>&);
template double parse_number(std::string_view, std::string_view, const NumberRange<double>&);

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace regatta::system
