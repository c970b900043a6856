// SPDX-License-Identifier: Apache-2.0
//
// The CPU limit of this process's control groups, of versions 1 and 2. A group also obeys the
// groups above it. A container without a cgroup namespace sees its own group as the root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace regatta {

/// The least CPU limit of these groups; empty if there is none. `groups`: the text of
/// /proc/self/cgroup; `mounts`: the folder of all hierarchies. Units: cores.
std::optional<double> cpu_quota(const std::string& groups, const std::filesystem::path& mounts);
/// The limit of this process.
std::optional<double> cpu_quota();

}  // namespace regatta
