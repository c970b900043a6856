// SPDX-License-Identifier: Apache-2.0
#include "harness/export/exported_file.h"

#include <fmt/format.h>

#include <iostream>
#include <system_error>

#include "harness/system/output_file.h"
#include "kernels/base/error.h"

namespace regatta::exports {
namespace {

namespace fs = std::filesystem;

/// Requires a new or empty folder, because files of an earlier export would seem a part of this
/// one.
void require_new_or_empty(const fs::path& folder) {
  system::create_folder(folder);
  std::error_code error;
  if (fs::is_empty(folder, error) && !error) return;
  throw RunError(ErrorKind::Usage, "cannot write " + folder.string() + ": " +
                                       (error ? error.message() : "the folder is not empty") +
                                       "; fix: choose another --out");
}

}  // namespace

void write_folder(const fs::path& folder, std::span<const ExportedFile> files) {
  require_new_or_empty(folder);
  for (const ExportedFile& file : files) {
    const fs::path path = folder / file.path;
    system::create_folder(path.parent_path());
    system::write_output({.path = path}, file.text);
  }
  std::cerr << fmt::format("regatta: {} files in {}\n", files.size(), folder.string());
}

}  // namespace regatta::exports
