// SPDX-License-Identifier: Apache-2.0
//
// How a collective divides elements and members. The bucket of each member is a list of tensors,
// laid end to end, with the same types at all members. A ring of n members divides it into n
// shares. In step s of all_reduce, member m sends share m - s to m + 1 and receives share m - 1 - s
// from m - 1 (modulo n); it adds that share to its own in steps 0 to n - 2 and keeps it in steps
// n - 1 to 2 n - 3. A reduce_scatter is the first half of these steps, an all_gather the second;
// between the halves, share m + 1 is complete at member m. The traffic of a graph and the
// transports use the same arithmetic; a test compares their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/merging.h"

namespace regatta {

/// Values of `--all-reduce`.
inline constexpr std::string_view kRing = "ring";
inline constexpr std::string_view kReduceToOne = "reduce_to_one";
inline constexpr std::string_view kHierarchicalCopy = "hierarchical_copy";
inline constexpr std::string_view kDoubleTree = "double_tree";
inline constexpr std::string_view kTorus = "torus";
inline constexpr std::string_view kMpi = "mpi";    ///< MPI_Iallreduce; only between processes
inline constexpr std::string_view kNccl = "nccl";  ///< as NCCL chooses; only between GPUs
inline constexpr std::string_view kAuto = "auto";  ///< not chosen yet; costs decide (open_sums.h)

/// The algorithms that need no library; they run within one process and between processes.
std::span<const std::string_view> all_reduce_algorithms();

/// Elements [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Share `index` of `count` elements divided among `parts`; sizes differ by at most one.
Range share(std::int64_t count, std::int64_t parts, std::int64_t index);

/// Whether the op is an all_reduce, reduce_scatter or all_gather; each member has a node.
constexpr bool is_collective(Op op) {
  return op == Op::AllReduce || op == Op::ReduceScatter || op == Op::AllGather;
}

/// The steps of an all_reduce by ring that the collective runs.
constexpr Range ring_steps(Op op, std::int64_t members) {
  return {op == Op::AllGather ? members - 1 : 0,
          op == Op::ReduceScatter ? members - 1 : 2 * (members - 1)};
}

/// The share of a bucket that is complete at `member` between the halves of a ring.
constexpr std::int64_t share_at(std::int64_t member, std::int64_t members) {
  return (member + 1) % members;
}

/// Elements of one tensor of a bucket.
struct Piece {
  std::size_t tensor = 0;  ///< index of the tensor in the bucket
  Range elements;          ///< elements of that tensor
};

/// The pieces of the share that is complete at `member`: share_at() of the bucket.
std::vector<Piece> pieces(std::span<const TensorType> bucket, std::int64_t members,
                          std::int64_t member);

/// The tensor's type if the piece is the whole tensor; otherwise a type with one dimension.
TensorType type_of(const Piece& piece, std::span<const TensorType> bucket);

/// hierarchical_copy: two halves, each reduced to its root; with an odd number of members the first
/// half has one more. The roots rotate with the collective's number.
struct Halves {
  std::int64_t first_size = 0;  ///< members 0 … first_size - 1
  std::int64_t first_root = 0;
  std::int64_t second_root = -1;  ///< -1 if there is only one member
};
Halves halves(std::int64_t members, std::int64_t group);

/// Members of one process (or host), and the one of them that exchanges data with other parts.
struct Part {
  std::vector<std::int64_t> members;  ///< ascending
  std::int64_t root = 0;              ///< a member; rotates with the collective's number
};

/// The members of each part, in the order of their first members. `part_of`: the part of each
/// member.
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
  std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the number of members allows
  /// The process (or host) of each member. Empty: all in one process.
  std::span<const std::int64_t> part_of = {};
};

/// The order in which the members' elements are added: the members of `first` in turn, the members
/// of `second` in turn, then the second sum to the first.
struct AdditionOrder {
  Range elements;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;  ///< often empty
};

/// Addition orders of an all_reduce in one process, for ascending ranges that cover all elements.
/// Algorithms: ring (share k begins with member k), reduce_to_one, hierarchical_copy. Others add
/// sums to sums more than once, in the order of their messages (collective_messages.h).
std::vector<AdditionOrder> addition_orders(const CollectiveShape& shape);
bool has_addition_orders(std::string_view algorithm);

/// The bucket of a member's node, and the shape of its collective, valid while the node lives.
std::vector<TensorType> bucket_of(const Graph& graph, const Node& node);
CollectiveShape collective_shape(const Graph& graph, const Node& node);

/// The first number that is no collective's group.
std::int64_t first_free_group(const Graph& graph);

/// The node's attribute `columns`; 0 if absent.
std::int64_t torus_columns(const Node& node);

/// Bytes and messages that `member` sends and receives. For M = elements * element_bytes and n
/// members: ring 2 (n - 1) / n M each way (exactly: all shares but one, twice); reduce_to_one
/// (n - 1) M each way at member 0 and M at the others; hierarchical_copy 2 (n - 1) M in all;
/// double_tree and torus the sizes of their messages, also 2 (n - 1) M in all. Over p parts,
/// hierarchical_copy moves M each way between a part's root and each of its other members, and the
/// roots form a ring: still 2 (n - 1) M in all. These libraries do not report their bytes: mpi
/// counts as hierarchical_copy with an optimal all-reduce between the roots, nccl as a ring.
/// reduce_scatter and all_gather: (n - 1) / n M each way.
MemberTraffic member_traffic(const CollectiveShape& shape, std::int64_t member);

}  // namespace regatta
