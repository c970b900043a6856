// SPDX-License-Identifier: Apache-2.0
//
// Declares a file in another program's format, and writes several such files into a folder.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace regatta::exports {

struct ExportedFile {
  std::filesystem::path path;  ///< relative to the folder; empty if the format is one file
  std::string text;
};

/// Writes files into a new or empty folder. Throws: RunError if the folder is not empty, or a file
/// cannot be written.
void write_folder(const std::filesystem::path& folder, std::span<const ExportedFile> files);

}  // namespace regatta::exports
