// SPDX-License-Identifier: Apache-2.0
//
// The table [devices] of a cluster's file, and the profiles that it names: files of
// harness/simulate/profiles, or others by a path that ends in .toml. README.md has their keys.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>

#include "harness/simulate/toml_reader.h"
#include "kernels/virtual/devices.h"

namespace regatta::simulate {

/// Returns the text of a profile by its name or path. Throws: RunError(Data).
using ProfileAt = std::function<std::string(const std::string& name)>;

struct DevicesOfFile {
  virtual_time::Devices devices;
  /// The coordinates of workers in the order in which they fill devices, the fastest first.
  std::array<std::string, 3> order{"shard", "stage", "replica"};
  std::string texts;  ///< texts of all profiles, for a digest
};

/// Reads the table [devices]. `source` names its file in errors. Throws: RunError(Usage, Data).
DevicesOfFile read_devices(const toml::table& table, const std::string& source,
                           const ProfileAt& profile_at);

/// Returns the text of the profile `name`: a file beside `folder` if it is a path, otherwise one of
/// harness/simulate/profiles. Throws: RunError(Data, Usage).
std::string profile_text(const std::string& name, const std::filesystem::path& folder);

}  // namespace regatta::simulate
