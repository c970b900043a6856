// SPDX-License-Identifier: Apache-2.0
//
// Commands as text, quoted as a POSIX shell reads them, so that a recorded command can be run again
// whatever its paths look like.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// A word is quoted where it holds other characters than letters, digits and `_@%+=:,./-`.
std::string command_text(std::span<const std::string> words);

/// The words of a command with quotes '...', "..." and backslashes; an open quote ends with the
/// text.
std::vector<std::string> words_of(std::string_view command);

}  // namespace regatta
