// SPDX-License-Identifier: Apache-2.0
//
// A bar of text, as long as a number is large: blocks in eighths of a column where the terminal
// shows Unicode, else `#`.
#pragma once

#include <cstddef>
#include <string>

namespace regatta {

enum class Glyphs { Ascii, Unicode };

/// As the locale says, by LC_ALL, LC_CTYPE and LANG.
Glyphs glyphs_of_locale();

/// `share`: of `width` columns, from 0 to 1. More than nothing shows as something.
std::string bar(double share, std::size_t width, Glyphs glyphs);

}  // namespace regatta
