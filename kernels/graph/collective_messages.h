// SPDX-License-Identifier: Apache-2.0
//
// All_reduces that are schedules of messages, as data: who sends which elements to which member in
// which step, and whether they are added or copied there. Traffic is computed from them, transports
// run them (kernels/comm/collective), tests play them without either.
//
// double_tree: two binary trees with half of the buffer each, both at the same time; a tree adds up
// to its root and passes the sum down again. Of n members with the lowest bit b of r set, the
// parent of r in the first tree is (r ^ b) | 2 b, or r ^ b where that is n or more; 0 is the root.
// The second tree is the first mirrored (n even) or moved by one member (n odd), so that who is
// inside one tree is mostly a leaf of the other. Source: Sanders, Speck, Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009; NCCL,
// trees.cc. torus: X columns and Y rows, member y X + x at column x of row y. Rows are rings that
// reduce_scatter, then columns rings that all_reduce a row's share, then rows all_gather.
// Source: Mikami et al., "Massively distributed SGD", arXiv 1811.05233.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta {

/// The use of elements that arrive.
enum class Taking : std::uint8_t { Add, Copy };

/// Elements of the buffer, from member to member.
struct CollectiveMessage {
  std::int64_t step = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  Range elements;
  Taking taking = Taking::Copy;
};

/// Whether the algorithm is such a schedule.
bool is_by_messages(std::string_view algorithm);

/// By step; a member takes what reaches it in one step in this order. A message holds what its
/// sender has when all earlier steps are done: in one step no member sends elements that it takes.
/// Slices without elements are not sent.
std::vector<CollectiveMessage> messages_of(const CollectiveShape& shape);

/// In the first tree of double_tree; -1 for its root, member 0.
std::int64_t tree_parent(std::int64_t member, std::int64_t members);

struct TorusShape {
  std::int64_t columns = 1;
  std::int64_t rows = 1;
};

/// Of so many members: as near to square as there are divisors, with rows at least as long as
/// columns. A prime number of members is one row, a ring.
TorusShape nearest_to_square(std::int64_t members);

/// Of a collective by a torus.
TorusShape torus_shape(const CollectiveShape& shape);

}  // namespace regatta
