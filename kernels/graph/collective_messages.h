// SPDX-License-Identifier: Apache-2.0
//
// All_reduce algorithms as schedules of messages, in plain data: for each step, which member sends
// which elements to which member, and whether the receiver adds or copies them. Traffic is computed
// from these schedules, transports execute them (kernels/comm/collective), and tests simulate them.
//
// double_tree: two binary trees, each for half of the buffer, run at the same time; in each tree
// the elements are summed on the way up to the root, and the sum is sent down again. Let r be a
// member other than 0, n the number of members, b the lowest bit set in r: its parent in the first
// tree is (r ^ b) | 2 b, or r ^ b if that is n or more; 0 is the root. The second tree is the first
// one mirrored (n even) or shifted by one member (n odd), so that an inner member of one tree is
// mostly a leaf of the other. Source: Sanders, Speck, Träff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 2009; NCCL, trees.cc. torus: X
// columns and Y rows, member y X + x at column x of row y. Each row is a ring that runs
// reduce_scatter, then each column a ring that runs all_reduce on a row's share, then each row
// all_gather. Source: Mikami et al., "Massively distributed SGD", arXiv 1811.05233.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta {

/// Whether arriving elements are added to the receiver's elements or replace them.
enum class Taking : std::uint8_t { Add, Copy };

/// A message: elements of the buffer that one member sends to another.
struct CollectiveMessage {
  std::int64_t step = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  Range elements;
  Taking taking = Taking::Copy;
};

/// Whether the all_reduce algorithm is a schedule of messages; true for double_tree and torus.
bool is_by_messages(std::string_view algorithm);

/// Returns the messages of the collective, ordered by step; within a step, each member receives its
/// messages in this order. A message holds the values that its sender has after all earlier steps,
/// because no member sends and receives the same elements in one step. Messages without elements
/// are left out.
std::vector<CollectiveMessage> messages_of(const CollectiveShape& shape);

/// Returns the parent of a member in the first tree of double_tree; -1 for the root, member 0.
std::int64_t tree_parent(std::int64_t member, std::int64_t members);

bool is_torus(std::string_view algorithm);

struct TorusShape {
  std::int64_t columns = 1;
  std::int64_t rows = 1;
};

/// Returns the torus of `members` members that is nearest to a square and has at least as many
/// columns as rows. A prime number of members forms one row, which is a ring.
TorusShape nearest_to_square(std::int64_t members);

/// Returns the algorithm that is a torus of this shape: `torus_3x2`.
std::string to_algorithm(const TorusShape& shape);

/// Returns the torus of a collective: that of its algorithm or, if this has no sides, the torus
/// nearest to a square. Aborts if the sides do not fit the members.
TorusShape torus_shape(const CollectiveShape& shape);

}  // namespace regatta
