// SPDX-License-Identifier: Apache-2.0
//
// How collectives divide their elements and members. Each member has a bucket: a list of tensors,
// concatenated, whose types are the same at all members. A ring of n members divides the bucket
// into n shares. In step s of all_reduce, member m sends share m - s to m + 1 and receives share m
// - 1 - s from m - 1 (modulo n); it adds the received share to its own in steps 0 to n - 2 and
// replaces its own in steps n - 1 to 2 n - 3. A reduce_scatter performs the first half of these
// steps, an all_gather the second; between the halves, share m + 1 is complete at member m.
// traffic.h and the transports use this arithmetic; a test compares their byte counts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/merging.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Values of `--all-reduce`.
inline constexpr std::string_view kRing = "ring";
inline constexpr std::string_view kReduceToOne = "reduce_to_one";
inline constexpr std::string_view kHierarchicalCopy = "hierarchical_copy";
inline constexpr std::string_view kDoubleTree = "double_tree";
inline constexpr std::string_view kTorus = "torus";  ///< or `torus_3x2`: 3 columns, 2 rows
inline constexpr std::string_view kMpi = "mpi";      ///< MPI_Iallreduce; only between processes
/// NCCL chooses the algorithm; only between GPUs.
inline constexpr std::string_view kNccl = "nccl";

/// The all_reduce algorithms that need no library. They run within one process and between
/// processes.
std::span<const std::string_view> all_reduce_algorithms();

/// A range of elements, [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Returns share `index` of `count` elements that are divided into `parts` shares, whose sizes
/// differ by at most one.
Range share(std::int64_t count, std::int64_t parts, std::int64_t index);

/// Whether the op is an all_reduce, reduce_scatter or all_gather. The graph has one node of such an
/// op for each member of the group.
constexpr bool is_collective(Op op) {
  return op == Op::AllReduce || op == Op::ReduceScatter || op == Op::AllGather;
}

/// Returns the steps of a ring all_reduce that this collective performs: all of them, the first
/// half (reduce_scatter) or the second half (all_gather).
constexpr Range ring_steps(Op op, std::int64_t members) {
  return {op == Op::AllGather ? members - 1 : 0,
          op == Op::ReduceScatter ? members - 1 : 2 * (members - 1)};
}

/// Returns the index of the share that is complete at `member` between the two halves of a ring's
/// steps.
constexpr std::int64_t share_at(std::int64_t member, std::int64_t members) {
  return (member + 1) % members;
}

/// A range of one tensor's elements in a bucket.
struct Piece {
  std::size_t tensor = 0;  ///< index of the tensor in the bucket
  Range elements;          ///< elements of that tensor
};

/// Returns the pieces of tensors that form share share_at(member, members) of the bucket.
std::vector<Piece> pieces(std::span<const TensorType> bucket, std::int64_t members,
                          std::int64_t member);

/// Returns the number of inputs whose data a kernel reads: an all_gather only waits for those
/// beyond the pieces of its share.
std::size_t inputs_read(const Node& node);

/// The type of a piece: its tensor's type if the piece is the whole tensor, otherwise a type with
/// one dimension.
TensorType type_of(const Piece& piece, std::span<const TensorType> bucket);

/// The two halves into which hierarchical_copy divides its members; each half is reduced to its
/// root. With an odd number of members, the first half has one more. The roots depend on the
/// collective's number, `group`, so that consecutive collectives have different roots.
struct Halves {
  std::int64_t first_size = 0;  ///< members 0 … first_size - 1
  std::int64_t first_root = 0;
  std::int64_t second_root = -1;  ///< -1 if there is only one member
};
Halves halves(std::int64_t members, std::int64_t group);

/// A part of a collective: its members in one process (or on one host). One of them, the root,
/// exchanges data with other parts.
struct Part {
  std::vector<std::int64_t> members;  ///< ascending
  std::int64_t root = 0;              ///< one of `members`, chosen by the collective's number
};

/// Returns the parts, ordered by their first members. `part_of[m]` is the process (or host) of
/// member m; `group` is the collective's number.
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

/// A collective: its members, their elements and its algorithm.
struct CollectiveShape {
  Op op = Op::AllReduce;  ///< reduce_scatter and all_gather are always rings
  std::string_view algorithm;
  std::int64_t members = 1;
  std::int64_t group = 0;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 4;
  /// `part_of[m]` is the process (or host) of member m. Empty: all members are in one process.
  std::span<const std::int64_t> part_of = {};
};

/// The order in which an all_reduce adds the members' values of some elements: it sums the members
/// in `first`, in this order, then those in `second`, then adds the second sum to the first.
struct AdditionOrder {
  Range elements;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;  ///< often empty
};

/// Returns the addition orders of an all_reduce within one process, for ascending ranges that
/// together cover all elements. Only for ring (share k begins with member k), reduce_to_one and
/// hierarchical_copy; other algorithms add sums to sums more than once, in the order of their
/// messages (collective_messages.h).
std::vector<AdditionOrder> addition_orders(const CollectiveShape& shape);
bool has_addition_orders(std::string_view algorithm);

/// bucket_of() returns the types of the tensors in the bucket of a member's node,
/// collective_shape() the shape of the node's collective. The node must outlive the shape, which
/// refers to its attributes.
std::vector<TensorType> bucket_of(const Graph& graph, const Node& node);
CollectiveShape collective_shape(const Graph& graph, const Node& node);

/// The members of a collective for which a node stands (Step::alike): those of these replicas and
/// shards. Such nodes have the member numbers that they would have if all places were built,
/// ordered by replica and place.
Alike alike_members(const Node& node);
void set_alike_members(Attributes& attributes, const Alike& alike);
/// Returns the numbers of the members for which a node stands, its own first.
std::vector<std::int64_t> members_of(const Node& node);

/// Returns the places of the members of each collective, in member order, by group number. Those of
/// members that are not built are included.
std::map<std::int64_t, std::vector<Place>> places_of_groups(const Graph& graph);

/// Returns the coordinates in which the places of a group's members differ: `replicas`, `stages`,
/// `shards`, or such as `replicas and shards`.
std::string differences_between(std::span<const Place> members);

/// Returns the lowest group number above those of all collectives in the graph.
std::int64_t first_free_group(const Graph& graph);

/// Bytes and messages that `member` sends and receives in one run of the collective. For M =
/// elements * element_bytes and n members: ring 2 (n - 1) / n M each way (exactly: all shares but
/// one, twice); reduce_to_one (n - 1) M each way at member 0 and M at the others; hierarchical_copy
/// 2 (n - 1) M in all; double_tree and torus the sizes of their messages, also 2 (n - 1) M in all.
/// Between several parts, hierarchical_copy moves M each way between a part's root and each of its
/// other members, and the roots form a ring: still 2 (n - 1) M in all. MPI and NCCL do not report
/// their bytes, so mpi counts as hierarchical_copy with an optimal all-reduce between the roots,
/// and nccl as a ring. reduce_scatter and all_gather: (n - 1) / n M each way.
MemberTraffic member_traffic(const CollectiveShape& shape, std::int64_t member);

}  // namespace regatta
