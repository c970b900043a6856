// SPDX-License-Identifier: Apache-2.0
#include "harness/system/program_files.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

fs::path program() { return fs::read_symlink("/proc/self/exe"); }

}  // namespace

fs::path installed_folder() { return program().parent_path().parent_path() / "share/regatta"; }

std::optional<fs::path> find_program_file(const fs::path& name) {
  if (const fs::path installed = installed_folder(); fs::exists(installed)) {
    if (!fs::exists(installed / name)) return std::nullopt;
    return installed / name;
  }
  for (fs::path folder = program().parent_path();; folder = folder.parent_path()) {
    if (fs::exists(folder / name)) return folder / name;
    if (folder == folder.root_path()) return std::nullopt;
  }
}

std::string callable(const fs::path& script) {
  const fs::path installed = installed_folder() / script;
  return fs::exists(installed) ? installed.string() : script.string();
}

}  // namespace regatta::system
