// SPDX-License-Identifier: Apache-2.0
//
// Properties of standard output (whether it is a terminal, and its size), and functions that make
// text fit into it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::system {

bool is_terminal();
/// True if standard output is a terminal and NO_COLOR is not set.
bool shows_color();

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// The terminal's size; 80 columns and 24 rows if it is unknown.
TerminalSize terminal_size();

/// Joins the pieces by the separator into lines of at most `columns` columns. A piece that is wider
/// than that gets a line of its own.
std::vector<std::string> wrapped(const std::vector<std::string>& pieces, std::string_view separator,
                                 std::size_t columns);

/// Wraps a text between words, which are separated by spaces. All spaces within a line are kept,
/// because they may belong to a path.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

/// On a terminal, wraps the part of a line after its first `indent` columns, and indents the
/// wrapped lines by `indent`. Elsewhere returns the line unchanged.
std::string in_columns(const std::string& line, std::size_t indent);

/// Escapes control characters, including Unicode's C1 set, as `\n` or `\x1b`, so that text from a
/// file or message can neither break a line nor move the cursor.
std::string one_line(std::string_view text);

/// Like one_line(), but keeps only the beginning and the end of a long text.
std::string short_line(std::string_view text);

}  // namespace regatta::system
