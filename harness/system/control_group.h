// SPDX-License-Identifier: Apache-2.0
//
// The CPU limit of the control groups that this process is in, of versions 1 and 2. A group obeys
// those above it, too. A container without a namespace of groups sees its own group as the root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace regatta {

/// The least CPU limit of these groups; empty: none. `groups`: the text of /proc/self/cgroup;
/// `mounts`: the folder of all hierarchies. Units: cores.
std::optional<double> cpu_quota(const std::string& groups, const std::filesystem::path& mounts);
/// That of this process.
std::optional<double> cpu_quota();

}  // namespace regatta
