// SPDX-License-Identifier: Apache-2.0
//
// Models accelerators and the network between them: costs of kernels follow from their
// floating-point operations and bytes, costs of collectives from formulas. A kernel takes
//   launch + max(flop / (peak share(flop)), bytes / (bandwidth share(bytes)))
// A collective of S bytes and n members on N hosts, at most k on one, takes the shorter of
//   ring: base + N hops(k) + 2 (N - 1) hop + 2 (n - 1) / n S / B, B = min(inside, between)
//   tree: base + hops(k) + 2 log2(N) hop + 2 S / (tree_share B); all_reduce over hosts only
// where hops(k) are those among the k members of a host. reduce_scatter and all_gather take half
// the hops and bytes of the ring. A group has k / (devices per host) of its host's cards, because
// the other groups of the host exchange at the same time.
// Source: NCCL, src/graph/tuning.cc. Units: nanoseconds, bytes, bytes per nanosecond (GB/s),
// floating-point operations per nanosecond.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::virtual_time {

/// The attainable share of a peak at one size; between sizes it is linear in the logarithm.
struct ShareAt {
  double size = 0;  ///< flop or bytes
  double share = 1;
};

/// Returns the share at `size`; that of the nearest point outside the points, 1 without points.
double share_at(std::span<const ShareAt> points, double size);

/// Whether the time size / share(size) never falls with the size.
bool is_monotone(std::span<const ShareAt> points);

/// The kernel for attention. Flash keeps no scores in memory and skips those of later tokens.
enum class AttentionKernel : std::uint8_t { Flash, Unfused };

/// Whether the weight gradients of microbatches are added up by separate kernels or by the product
/// that makes them.
enum class Accumulation : std::uint8_t { Apart, Fused };

/// Whether messages and collectives run beside kernels, or a worker waits for each that it begins.
enum class Communication : std::uint8_t { Beside, Blocking };

/// A kind of accelerator. Shares are of `flop_per_ns` of the element type.
struct DeviceProfile {
  std::string name;
  std::map<ElementType, double> flop_per_ns;
  std::vector<ShareAt> product_shares;
  double bytes_per_ns = 0;
  std::vector<ShareAt> memory_shares;
  double launch_ns = 0;
  double collective_share = 0;     ///< of the device, taken by a collective beside kernels
  double flash_forward_share = 0;  ///< 0: not known
  double flash_backward_share = 0;
  double unfused_share = 0;
  double memory_bytes = 0;
  double reserved_bytes = 0;  ///< taken by the driver and libraries
};

/// The time of all hops and the bus bandwidth of an all_reduce among some members.
struct GroupAt {
  double members = 2;
  double hops_ns = 0;  ///< without the level's base_ns
  double bytes_per_ns = 0;
};

/// One level of a network: the links of the devices in a host, or of the cards of hosts.
struct Level {
  std::string name;
  double bytes_per_ns = 0;  ///< one way, of a device or card, as collectives reach it
  double base_ns = 0;
  double hop_ns = 0;
  double tree_share = 1;
  double message_ns = 0;            ///< of a message from one device to another
  double message_bytes_per_ns = 0;  ///< rate of such messages
  std::vector<GroupAt> groups;      ///< measured; empty: base_ns, hop_ns and bytes_per_ns
};

/// The devices of a cluster whose hosts are alike.
struct Devices {
  DeviceProfile profile;
  Level inside;   ///< a host
  Level between;  ///< hosts
  int per_host = 1;
  int cards = 1;                ///< network cards of each host, for `between`
  int hosts_per_switch = 1;     ///< hosts whose traffic stays below the oversubscribed links
  double oversubscription = 1;  ///< fat tree: bandwidth below a switch over that above it
  AttentionKernel attention = AttentionKernel::Flash;
  Accumulation accumulation = Accumulation::Apart;
  Communication communication = Communication::Beside;
  double attained = 1;      ///< share of the profile's speeds that the program's kernels attain
  int exchanged_bits = 32;  ///< bits sent for an element of 32 bits in a collective

  /// Returns the time of the node's kernel. Throws: RunError(Usage) if the profile lacks a number.
  double kernel_ns(const Graph& graph, NodeId id) const;
  /// Returns the time of a collective of `bytes` among members on `hosts[m]` that all start at
  /// once.
  double collective_ns(Op op, double bytes, std::span<const int> hosts) const;
  /// Returns the bandwidth between hosts of a group with `members` devices in each of `hosts`.
  double between_bytes_per_ns(double members, std::int64_t hosts) const;
};

}  // namespace regatta::virtual_time
