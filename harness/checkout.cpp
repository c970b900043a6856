// SPDX-License-Identifier: Apache-2.0
#include "harness/checkout.h"

namespace regatta {

std::optional<std::filesystem::path> find_in_checkout(const std::filesystem::path& name) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  for (std::filesystem::path folder = program.parent_path();; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / name)) return folder / name;
    if (folder == folder.root_path()) return std::nullopt;
  }
}

}  // namespace regatta
