// SPDX-License-Identifier: Apache-2.0
//
// Files in formats of other programs, and the folder in which several of them are.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace regatta {

struct ExportedFile {
  std::filesystem::path path;  ///< below the folder; empty if the format is one file
  std::string text;
};

/// Into a new or empty folder. Throws: RunError.
void write_folder(const std::filesystem::path& folder, std::span<const ExportedFile> files);

}  // namespace regatta
