// SPDX-License-Identifier: Apache-2.0
//
// Opens files and folders at paths that a user gave. If the path is missing or is a folder, a FIFO,
// an endless device or a loop of symbolic links, opening it fails at once with a readable error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace regatta::system {

/// Opens a regular file of at most `most_bytes`. Throws: RunError(Data) with the reason.
std::ifstream open_input(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The whole contents of a regular file of at most `most_bytes`. Throws: like open_input().
std::string text_of(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// is_there() is true if the path exists, is_folder() if it is a folder. Both are false if a part
/// of the path is unreadable.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

}  // namespace regatta::system
