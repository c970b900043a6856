// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/collective_messages.h"

#include <algorithm>
#include <functional>

#include "kernels/base/error.h"

namespace regatta {
namespace {

using Messages = std::vector<CollectiveMessage>;

/// Member at position `index` of a tree or ring.
using MemberAt = std::function<std::int64_t(std::int64_t index)>;

std::size_t place(std::int64_t index) { return static_cast<std::size_t>(index); }

void append(Messages& messages, const CollectiveMessage& message) {
  if (message.elements.size() > 0) messages.push_back(message);
}

/// A parent adds its children's sums once both are complete; then the total goes down.
void append_tree(Messages& messages, std::int64_t members, Range elements,
                 const MemberAt& member_at) {
  std::vector<std::int64_t> height(place(members), 0);
  std::vector<std::int64_t> depth(place(members), 0);
  for (std::int64_t leaf = 0; leaf < members; ++leaf) {
    std::int64_t steps = 0;
    for (std::int64_t up = tree_parent(leaf, members); up >= 0; up = tree_parent(up, members)) {
      height[place(up)] = std::max(height[place(up)], ++steps);
    }
    depth[place(leaf)] = steps;
  }
  for (std::int64_t child = 1; child < members; ++child) {
    const std::int64_t parent = tree_parent(child, members);
    append(messages, {.step = height[place(parent)] - 1,
                      .from = member_at(child),
                      .to = member_at(parent),
                      .elements = elements,
                      .taking = Taking::Add});
    append(messages, {.step = height[0] + depth[place(parent)],
                      .from = member_at(parent),
                      .to = member_at(child),
                      .elements = elements,
                      .taking = Taking::Copy});
  }
}

Messages double_tree(std::int64_t members, std::int64_t elements) {
  Messages messages;
  append_tree(messages, members, share(elements, 2, 0), [](std::int64_t index) { return index; });
  append_tree(messages, members, share(elements, 2, 1), [members](std::int64_t index) {
    return members % 2 == 0 ? members - 1 - index : (index + 1) % members;
  });
  return messages;
}

struct Ring {
  Op op = Op::AllReduce;
  std::int64_t members = 1;
  Range elements;
  std::int64_t first_step = 0;
};

Range share_within(const Ring& ring, std::int64_t index) {
  const std::int64_t n = ring.members;
  const Range part = share(ring.elements.size(), n, ((index % n) + n) % n);
  return {ring.elements.begin + part.begin, ring.elements.begin + part.end};
}

void append_ring(Messages& messages, const Ring& ring, const MemberAt& member_at) {
  const Range steps = ring_steps(ring.op, ring.members);
  for (std::int64_t step = steps.begin; step < steps.end; ++step) {
    for (std::int64_t index = 0; index < ring.members; ++index) {
      append(messages, {.step = ring.first_step + step - steps.begin,
                        .from = member_at(index),
                        .to = member_at((index + 1) % ring.members),
                        .elements = share_within(ring, index - step),
                        .taking = step < ring.members - 1 ? Taking::Add : Taking::Copy});
    }
  }
}

Messages torus(TorusShape shape, std::int64_t elements) {
  Messages messages;
  const auto append_rows = [&](Op op, std::int64_t first_step) {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      append_ring(
          messages,
          {.op = op, .members = shape.columns, .elements = {0, elements}, .first_step = first_step},
          [&](std::int64_t index) { return row * shape.columns + index; });
    }
  };
  append_rows(Op::ReduceScatter, 0);
  const std::int64_t reduced = shape.columns - 1;
  for (std::int64_t column = 0; column < shape.columns; ++column) {
    append_ring(messages,
                {.members = shape.rows,
                 .elements = share(elements, shape.columns, share_at(column, shape.columns)),
                 .first_step = reduced},
                [&](std::int64_t index) { return index * shape.columns + column; });
  }
  append_rows(Op::AllGather, reduced + 2 * (shape.rows - 1));
  return messages;
}

}  // namespace

bool is_by_messages(std::string_view algorithm) {
  return algorithm == kDoubleTree || is_torus(algorithm);
}

bool is_torus(std::string_view algorithm) { return algorithm.starts_with(kTorus); }

std::vector<CollectiveMessage> messages_of(const CollectiveShape& shape) {
  check(is_by_messages(shape.algorithm), "an all_reduce that is a schedule of messages");
  Messages messages = shape.algorithm == kDoubleTree ? double_tree(shape.members, shape.elements)
                                                     : torus(torus_shape(shape), shape.elements);
  std::stable_sort(messages.begin(), messages.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  return messages;
}

std::int64_t tree_parent(std::int64_t member, std::int64_t members) {
  if (member == 0) return -1;
  const std::int64_t lowest = member & -member;
  const std::int64_t above = (member ^ lowest) | (2 * lowest);
  return above < members ? above : member ^ lowest;
}

TorusShape nearest_to_square(std::int64_t members) {
  TorusShape shape{.columns = members, .rows = 1};
  for (std::int64_t rows = 2; rows * rows <= members; ++rows) {
    if (members % rows == 0) shape = {.columns = members / rows, .rows = rows};
  }
  return shape;
}

TorusShape torus_shape(const CollectiveShape& shape) {
  if (shape.algorithm == kTorus) return nearest_to_square(shape.members);
  const std::string sides(shape.algorithm.substr(kTorus.size() + 1));
  const std::int64_t columns = std::stoll(sides);
  const TorusShape torus{.columns = columns, .rows = shape.members / columns};
  check(to_algorithm(torus) == shape.algorithm && torus.columns * torus.rows == shape.members,
        "the sides of a torus fit its members");
  return torus;
}

std::string to_algorithm(const TorusShape& shape) {
  return std::string(kTorus) + '_' + std::to_string(shape.columns) + 'x' +
         std::to_string(shape.rows);
}

}  // namespace regatta
