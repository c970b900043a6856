// SPDX-License-Identifier: Apache-2.0
#include "harness/system/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "kernels/base/error.h"

namespace regatta::system {

double parse_duration(const std::string& flag, const std::string& text) {
  static const std::map<std::string_view, double> kSeconds = {{"s", 1}, {"min", 60}, {"h", 3600}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const auto unit = kSeconds.find(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (error != std::errc() || unit == kSeconds.end() || number <= 0 ||
      !std::isfinite(number * unit->second)) {
    throw RunError(ErrorKind::Usage,
                   fmt::format("{} '{}': write a number above 0 and its unit, s, min or h, such as "
                               "90s, 3min or 1.5h",
                               flag, text));
  }
  return number * unit->second;
}

std::string rough_duration(double seconds) {
  return seconds < 9.5    ? fmt::format("{:.1f} s", seconds)
         : seconds < 90   ? fmt::format("{:.0f} s", seconds)
         : seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                          : fmt::format("{:.0f} h", seconds / 3600);
}

}  // namespace regatta::system
