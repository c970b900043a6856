// SPDX-License-Identifier: Apache-2.0
//
// The table [devices] of a cluster's file, and the profiles that it names: files of
// harness/simulate/profiles, or others by a path that ends in .toml.
//   [devices]
//   device = "a100_80gb"       # profile of an accelerator
//   inside = "nvlink3"         # profile of the network in a host; may be left out if per_host is 1
//   between = "hdr"            # profile of the network of hosts; may be left out for one host
//   per_host = 8
//   cards = 8                  # network cards of a host
//   hosts_per_switch = 20      # hosts that reach each other below oversubscribed links
//   oversubscription = 1       # of the fat tree above these
//   attention = "flash"        # or unfused
//   accumulation = "apart"     # of microbatches' gradients; or fused, by the products that make
//   them order = "shard stage replica"   # of workers over devices, the fastest first
// A profile of an accelerator:
//   memory_gib, reserved_gib   # reserved by the driver and libraries
//   gb_per_s, memory_share = [[BYTES, SHARE], ...]
//   tflops_16, tflops_32, product_share = [[GFLOP, SHARE], ...]
//   flash_forward_share, flash_backward_share, unfused_share   # of tflops
//   launch_us
// A profile of a network:
//   gb_per_s, share            # one way, of a device or a card; the part that collectives reach
//   base_us, hop_us, tree_share
//   groups = [[MEMBERS, LATENCY_US, GB_PER_S], ...]   # measured all_reduces, by bus bandwidth
//   message_us, message_share
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
  std::string texts;  ///< of all profiles, for a digest
};

/// Reads the table [devices]. `source` names its file in errors. Throws: RunError(Usage, Data).
DevicesOfFile read_devices(const toml::table& table, const std::string& source,
                           const ProfileAt& profile_at);

/// Returns the text of the profile `name`: a file beside `folder` if it is a path, otherwise one of
/// harness/simulate/profiles. Throws: RunError(Data, Usage).
std::string profile_text(const std::string& name, const std::filesystem::path& folder);

}  // namespace regatta::simulate
