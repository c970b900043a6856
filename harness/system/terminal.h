// SPDX-License-Identifier: Apache-2.0
//
// What standard output shows to a person: whether it is a terminal, its size, and text that fits
// into it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

bool is_terminal();
/// On a terminal, unless NO_COLOR is set.
bool shows_color();

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// 80 columns and 24 rows where they are not known.
TerminalSize terminal_size();

/// Lines of at most `columns` columns, each as many pieces as fit with the separator between them.
/// A piece that is wider still stands alone.
std::vector<std::string> wrapped(const std::vector<std::string>& pieces, std::string_view separator,
                                 std::size_t columns);

/// The same with the words of a text, between which there are spaces. Within a line all of them
/// stay, as they may be a path's.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

/// A line of which, on a terminal, what stands behind the first `indent` columns is wrapped there.
/// Elsewhere it stays whole.
std::string in_columns(const std::string& line, std::size_t indent);

/// The text with control characters, those of Unicode's C1, too, as escapes, such as `\n` and
/// `\x1b`, so that what a file or a peer holds neither breaks a line nor moves the cursor.
std::string one_line(std::string_view text);

/// The same, of a long text its beginning and its end.
std::string short_line(std::string_view text);

}  // namespace regatta
