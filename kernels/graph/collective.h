// SPDX-License-Identifier: Apache-2.0
//
// How a collective divides elements and members. The same arithmetic computes the traffic from a
// graph and moves the bytes; a test checks that the two agree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/merging.h"

namespace regatta {

/// Values of `--all-reduce`.
inline constexpr std::string_view kRing = "ring";
inline constexpr std::string_view kReduceToOne = "reduce_to_one";
inline constexpr std::string_view kHierarchicalCopy = "hierarchical_copy";
inline constexpr std::string_view kMpi = "mpi";    ///< MPI_Iallreduce; between processes only
inline constexpr std::string_view kNccl = "nccl";  ///< as NCCL chooses; between GPUs only

/// The algorithms that need no library; they run inside one process and between processes.
std::span<const std::string_view> all_reduce_algorithms();

/// Elements [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Share `index` of `count` elements divided among `parts`; sizes differ by at most one.
Range share(std::int64_t count, std::int64_t parts, std::int64_t index);

/// hierarchical_copy: two halves (the first one larger by one where the count is odd, so that no
/// member is left out), each reduced to its root; the roots rotate with the collective's number.
struct Halves {
  std::int64_t first_size = 0;  ///< members 0 … first_size - 1
  std::int64_t first_root = 0;
  std::int64_t second_root = -1;  ///< -1 where there is one member
};
Halves halves(std::int64_t members, std::int64_t group);

/// Members that share a process (or a host), and the one that exchanges data with other parts.
struct Part {
  std::vector<std::int64_t> members;  ///< ascending
  std::int64_t root = 0;              ///< a member; rotates with the collective's number
};

/// Members by part, in the order of their first members. `part_of` names a part for each member.
std::vector<Part> parts(std::span<const std::int64_t> part_of, std::int64_t group);

/// Traffic of one member in one step. Units: bytes, messages.
struct MemberTraffic {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t messages = 0;  ///< received

  MemberTraffic& operator+=(const MemberTraffic& part) {
    sent += part.sent;
    received += part.received;
    messages += part.messages;
    return *this;
  }
};

template <FieldsOf<MemberTraffic> T, typename Field>
void for_each_field(T& traffic, Field&& field) {
  field("sent", traffic.sent, Merging<AddUp>());
  field("received", traffic.received, Merging<AddUp>());
  field("messages", traffic.messages, Merging<AddUp>());
}

/// Who takes part and how much.
struct CollectiveShape {
  std::string_view algorithm;
  std::int64_t members = 1;
  std::int64_t group = 0;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 4;
  /// By member: the process (or host) it lives in. Empty: all in one process.
  std::span<const std::int64_t> part_of = {};
};

/// The order in which the members' elements are added: members of `first` one after the other,
/// members of `second` one after the other, then the second sum to the first.
struct AdditionOrder {
  Range elements;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;  ///< often empty
};

/// Addition orders of an all_reduce in one process, for ascending ranges that cover all elements.
/// Algorithms: ring (share k begins with member k), reduce_to_one, hierarchical_copy.
std::vector<AdditionOrder> addition_orders(const CollectiveShape& shape);

/// What `member` sends and receives. For M = elements * element_bytes and n members:
/// ring 2 (n - 1) / n M each way (exactly: all shares but one, twice); reduce_to_one (n - 1) M each
/// way at member 0 and M at the others; hierarchical_copy 2 (n - 1) M in all. Over p parts,
/// hierarchical_copy moves M each way between a part's root and each of its other members, and the
/// roots are a ring: still 2 (n - 1) M in all. mpi is counted as hierarchical_copy with an optimal
/// all-reduce between the roots, nccl as a ring; these libraries do not report the bytes that they
/// move.
MemberTraffic member_traffic(const CollectiveShape& shape, std::int64_t member);

}  // namespace regatta
