// SPDX-License-Identifier: Apache-2.0
//
// Standard output as a person sees it: whether it is a terminal, its size, and text that fits into
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

bool is_terminal();
/// True on a terminal, unless NO_COLOR is set.
bool shows_color();

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// The terminal's size; 80 columns and 24 rows if unknown.
TerminalSize terminal_size();

/// Fills lines of at most `columns` columns with pieces, joined by the separator. A wider piece
/// gets a line of its own.
std::vector<std::string> wrapped(const std::vector<std::string>& pieces, std::string_view separator,
                                 std::size_t columns);

/// Wraps the words of a text, which are separated by spaces. All spaces within a line stay, because
/// they may belong to a path.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

/// Wraps, on a terminal, the part of a line after its first `indent` columns below itself. Returns
/// the whole line elsewhere.
std::string in_columns(const std::string& line, std::size_t indent);

/// Escapes control characters, including those of Unicode's C1, as in `\n` and `\x1b`, so that the
/// contents of a file or message can neither break a line nor move the cursor.
std::string one_line(std::string_view text);

/// Like one_line(), but keeps only the beginning and the end of a long text.
std::string short_line(std::string_view text);

}  // namespace regatta
