// SPDX-License-Identifier: Apache-2.0
//
// Draws a bar of text whose length represents a number: with Unicode blocks in eighths of a column
// if the locale allows it, else with `#`.
#pragma once

#include <cstddef>
#include <string>

namespace regatta::matrix {

enum class Glyphs { Ascii, Unicode };

/// Returns the glyphs that the locale allows (LC_ALL, LC_CTYPE, LANG).
Glyphs glyphs_of_locale();

/// Draws a bar that fills `share`, 0 to 1, of `width` columns. A share above 0 has at least one
/// glyph.
std::string bar(double share, std::size_t width, Glyphs glyphs);

}  // namespace regatta::matrix
