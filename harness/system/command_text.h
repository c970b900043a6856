// SPDX-License-Identifier: Apache-2.0
//
// Formats commands with the quoting of a POSIX shell, so that a recorded command can be pasted into
// a shell whatever characters its paths contain.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::system {

/// Joins words, quoting those with characters other than letters, digits and `_@%+=:,./-`.
std::string command_text(std::span<const std::string> words);

/// Splits a command into words, and removes quotes '...', "..." and backslashes. A quote that is
/// not closed extends to the end of the text.
std::vector<std::string> words_of(std::string_view command);

}  // namespace regatta::system
