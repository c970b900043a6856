// SPDX-License-Identifier: Apache-2.0
#include "harness/system/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace regatta::system {

bool is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool shows_color() { return is_terminal() && std::getenv("NO_COLOR") == nullptr; }

TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

std::vector<std::string> wrapped(const std::vector<std::string>& pieces, std::string_view separator,
                                 std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& piece : pieces) {
    if (!lines.empty() && lines.back().size() + separator.size() + piece.size() <= columns) {
      lines.back().append(separator).append(piece);
    } else {
      lines.push_back(piece);
    }
  }
  return lines;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, ' ');) words.push_back(word);
  return wrapped(words, " ", columns);
}

std::string in_columns(const std::string& line, std::size_t indent) {
  constexpr std::size_t kLeast = 20;
  if (!is_terminal() || line.size() <= indent) return line;
  const std::size_t columns = std::max(terminal_size().columns, indent + kLeast) - indent;
  const std::string next = '\n' + std::string(indent, ' ');
  return line.substr(0, indent) +
         fmt::format("{}", fmt::join(wrapped(line.substr(indent), columns), next));
}

std::string one_line(std::string_view text) {
  std::string line;
  unsigned char former = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_c1 = former == 0xc2 && byte >= 0x80 && byte < 0xa0;
    former = byte;
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || is_c1) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::string short_line(std::string_view text) {
  constexpr std::size_t kShown = 500;
  const std::string line = one_line(text);
  if (line.size() <= 2 * kShown) return line;
  return line.substr(0, kShown) + " ... " + line.substr(line.size() - kShown);
}

}  // namespace regatta::system
