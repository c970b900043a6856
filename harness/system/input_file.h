// SPDX-License-Identifier: Apache-2.0
//
// Files and folders that a user names. If such a path is missing, a folder, a FIFO, an endless
// device or a circle of links, opening it fails at once with a readable error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace regatta {

/// Opens a regular file of at most `most_bytes`. Throws: RunError(Data) with the reason.
std::ifstream open_input(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The whole contents. Throws: like open_input().
std::string text_of(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// Whether the path exists, or is a folder; false if a part of the path is unreadable.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

}  // namespace regatta
