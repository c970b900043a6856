// SPDX-License-Identifier: Apache-2.0
#include "harness/system/command_text.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace regatta::system {
namespace {

constexpr std::string_view kPlain = "_@%+=:,./-";

bool is_plain(unsigned char c) {
  return c < 0x80 && (std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos);
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? R"('"'"')" : std::string(1, c);
  return text + "'";
}

/// Whether a backslash escapes `c` within `quote` or, if that is 0, outside of quotes.
bool is_escapable(char c, char quote) {
  return quote == 0 ||
         (quote == '"' && std::string_view("$`\"\\\n").find(c) != std::string_view::npos);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

std::string command_text(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && is_space(c)) {
      if (word) words.push_back(*word);
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && i + 1 < command.size() && is_escapable(command[i + 1], quote)) {
      *word += command[++i];
    } else {
      *word += c;
    }
  }
  if (word) words.push_back(*word);
  return words;
}

}  // namespace regatta::system
