// SPDX-License-Identifier: Apache-2.0
//
// Files and folders that a user names. Whatever stands at such a path - nothing, a folder, a FIFO,
// a device that never ends, a circle of links - the answer comes at once and is an error in words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace regatta {

/// Opens a regular file of at most `most_bytes`. Throws: RunError(Data) that says why not.
std::ifstream open_input(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// All of it. Throws: as open_input() does.
std::string text_of(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// Whether there is something at the path, or a folder; not where a part of it is unreadable.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

}  // namespace regatta
