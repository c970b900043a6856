// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/collective_schedule.h"

#include <string>

#include "kernels/base/error.h"
#include "kernels/graph/collective_messages.h"

namespace regatta::virtual_time {
namespace {

constexpr std::int64_t kEagerBytes = 64 << 10;  // Open MPI's default over TCP

}  // namespace

CollectiveSchedule::CollectiveSchedule(const CollectiveShape& shape)
    : members_(shape.members), elements_(shape.elements), element_bytes_(shape.element_bytes) {
  if (members_ == 1) return;
  if (shape.algorithm == kRing || shape.algorithm == kNccl) {
    is_ring_ = true;
    ring_ = ring_steps(shape.op, members_);
    steps_ = ring_.size();
  } else if (shape.algorithm == kMpi) {
    add_binomial(shape);
  } else if (is_by_messages(shape.algorithm)) {
    add_messages(shape);
  } else if (shape.algorithm == kReduceToOne) {
    add_to_one(shape);
  } else if (shape.algorithm == kHierarchicalCopy) {
    shape.part_of.empty() ? add_hierarchical(shape) : add_by_parts(shape);
  } else {
    throw RunError(ErrorKind::Unsupported, "virtual time has no schedule for the all_reduce '" +
                                               std::string(shape.algorithm) + "'");
  }
  if (!is_ring_) steps_ = static_cast<std::int64_t>(listed_.size());
}

MemberWork& CollectiveSchedule::at(std::int64_t member, std::int64_t step) {
  while (static_cast<std::int64_t>(listed_.size()) <= step) {
    listed_.emplace_back(static_cast<std::size_t>(members_));
  }
  return listed_[static_cast<std::size_t>(step)][static_cast<std::size_t>(member)];
}

void CollectiveSchedule::send(std::int64_t step, std::int64_t from, const MemberMessage& message,
                              bool is_added) {
  at(from, step).sends.push_back(message);
  MemberWork& taker = at(message.to, step);
  ++taker.awaits;
  if (is_added) taker.adds_bytes += message.bytes;
}

void CollectiveSchedule::add_to_one(const CollectiveShape& shape) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  for (std::int64_t m = 1; m < members_; ++m) send(0, m, {.to = 0, .bytes = all}, true);
  for (std::int64_t m = 1; m < members_; ++m) send(1, 0, {.to = m, .bytes = all}, false);
}

void CollectiveSchedule::add_hierarchical(const CollectiveShape& shape) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const Halves split = halves(members_, shape.group);
  for (std::int64_t m = 0; m < members_; ++m) {
    const std::int64_t root = m < split.first_size ? split.first_root : split.second_root;
    if (m == root) continue;
    send(0, m, {.to = root, .bytes = all}, true);
    send(3, root, {.to = m, .bytes = all}, false);
  }
  send(1, split.second_root, {.to = split.first_root, .bytes = all}, true);
  send(2, split.first_root, {.to = split.second_root, .bytes = all}, false);
}

/// Adds the steps of a collective by parts: members send to the root of their part, the roots form
/// a ring, and results return.
void CollectiveSchedule::add_by_parts(const CollectiveShape& shape) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const std::vector<Part> dealt = parts(shape.part_of, shape.group);
  const auto roots = static_cast<std::int64_t>(dealt.size());
  const Range ring = roots == 1 ? Range{0, 0} : ring_steps(Op::AllReduce, roots);
  for (std::int64_t p = 0; p < roots; ++p) {
    const Part& part = dealt[static_cast<std::size_t>(p)];
    for (const std::int64_t m : part.members) {
      if (m == part.root) continue;
      send(0, m, {.to = part.root, .bytes = all}, true);
      send(1 + ring.size(), part.root, {.to = m, .bytes = all}, false);
    }
    const std::int64_t next = dealt[static_cast<std::size_t>((p + 1) % roots)].root;
    for (std::int64_t s = ring.begin; s < ring.end; ++s) {
      const std::int64_t index = ((p - s) % roots + roots) % roots;
      const std::int64_t bytes = share(elements_, roots, index).size() * element_bytes_;
      send(1 + s, part.root, {.to = next, .bytes = bytes}, s < roots - 1);
    }
  }
}

/// Adds binomial trees of the roots of parts, one part per process. The other members of a part
/// send to their root before the trees, and receive from it afterwards.
void CollectiveSchedule::add_binomial(const CollectiveShape& shape) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const std::vector<Part> dealt = parts(shape.part_of, shape.group);
  const auto count = static_cast<std::int64_t>(dealt.size());
  const int handshakes = all > kEagerBytes ? 1 : 0;
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < count) ++levels;
  const auto root = [&](std::int64_t p) { return dealt[static_cast<std::size_t>(p)].root; };
  for (std::int64_t level = 0; level < levels; ++level) {
    const std::int64_t distance = std::int64_t{1} << level;
    for (std::int64_t p = distance; p < count; p += 2 * distance) {
      send(1 + level, root(p), {.to = root(p - distance), .bytes = all, .handshakes = handshakes},
           true);
      send(2 * levels - level, root(p - distance),
           {.to = root(p), .bytes = all, .handshakes = handshakes}, false);
    }
  }
  for (const Part& part : dealt) {
    for (const std::int64_t m : part.members) {
      if (m == part.root) continue;
      send(0, m, {.to = part.root, .bytes = all}, true);
      send(1 + 2 * levels, part.root, {.to = m, .bytes = all}, false);
    }
  }
}

void CollectiveSchedule::add_messages(const CollectiveShape& shape) {
  for (const CollectiveMessage& message : messages_of(shape)) {
    send(message.step, message.from,
         {.to = message.to, .bytes = message.elements.size() * element_bytes_},
         message.taking == Taking::Add);
  }
}

void CollectiveSchedule::work(std::int64_t member, std::int64_t step, MemberWork& work) const {
  if (!is_ring_) {
    work = listed_[static_cast<std::size_t>(step)][static_cast<std::size_t>(member)];
    return;
  }
  const std::int64_t s = ring_.begin + step;
  const auto bytes = [&](std::int64_t index) {
    return share(elements_, members_, (index + 2 * members_) % members_).size() * element_bytes_;
  };
  work.sends.assign(1, {.to = (member + 1) % members_, .bytes = bytes(member - s)});
  work.awaits = 1;
  work.adds_bytes = s < members_ - 1 ? bytes(member - 1 - s) : 0;
}

}  // namespace regatta::virtual_time
