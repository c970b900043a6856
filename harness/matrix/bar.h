// SPDX-License-Identifier: Apache-2.0
//
// A text bar with a length that represents a number: blocks in eighths of a column if the terminal
// shows Unicode, else `#`.
#pragma once

#include <cstddef>
#include <string>

namespace regatta {

enum class Glyphs { Ascii, Unicode };

/// The glyphs that the locale allows (LC_ALL, LC_CTYPE, LANG).
Glyphs glyphs_of_locale();

/// Draws a bar over `share` of `width` columns, 0 to 1. A share above 0 shows at least one mark.
std::string bar(double share, std::size_t width, Glyphs glyphs);

}  // namespace regatta
