// SPDX-License-Identifier: Apache-2.0
//
// Files in formats of other programs, and the writer of a folder of them.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace regatta {

struct ExportedFile {
  std::filesystem::path path;  ///< below the folder; empty if the format is one file
  std::string text;
};

/// Writes files into a new or empty folder. Throws: RunError.
void write_folder(const std::filesystem::path& folder, std::span<const ExportedFile> files);

}  // namespace regatta
