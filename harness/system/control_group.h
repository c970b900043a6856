// SPDX-License-Identifier: Apache-2.0
//
// The CPU limit of this process's control groups (cgroups, versions 1 and 2). The limits of a
// group's ancestors apply, too. A container without a cgroup namespace sees its own group as the
// root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace regatta::system {

/// The lowest CPU limit of the groups listed in `groups`, the text of /proc/self/cgroup, and of
/// their ancestors; empty if none has a limit. `mounts` is the folder where the hierarchies are
/// mounted.
/// Units: cores.
std::optional<double> cpu_quota(const std::string& groups, const std::filesystem::path& mounts);
/// The lowest CPU limit that applies to this process; empty if there is none. Units: cores.
std::optional<double> cpu_quota();

}  // namespace regatta::system
