// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace regatta::matrix {

Glyphs glyphs_of_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first one set decides
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale(value);
    const bool unicode = locale.find("UTF-8") != std::string::npos ||
                         locale.find("utf8") != std::string::npos ||
                         locale.find("utf-8") != std::string::npos;
    return unicode ? Glyphs::Unicode : Glyphs::Ascii;
  }
  return Glyphs::Ascii;
}

std::string bar(double share, std::size_t width, Glyphs glyphs) {
  static constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (share <= 0) return "";
  const std::size_t parts = glyphs == Glyphs::Unicode ? kEighths.size() : 1;
  const double exact = std::min(share, 1.0) * static_cast<double>(width * parts);
  const auto filled = static_cast<std::size_t>(std::max(1.0, std::round(exact)));
  if (glyphs == Glyphs::Ascii) return std::string(filled, '#');
  std::string text;
  for (std::size_t i = 0; i < filled / parts; ++i) text += "█";
  return text + kEighths[filled % parts];
}

}  // namespace regatta::matrix
