// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/collective/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/collective/element_sums.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

/// Chunk size of schedules: a chunk and the one added to it stay in a core's cache.
constexpr std::int64_t kChunkElements = 16 * 1024;

}  // namespace

/// A member's progress in a run: 1 on arrival, 1 + k after its k-th transfer, at last `points_`.
class AllReduceGroup::Turn {
 public:
  Turn(AllReduceGroup& group, std::int64_t member, const Patience& patience,
       const Observer& observer)
      : group_(group),
        member_(member),
        patience_(patience),
        observer_(observer),
        base_(group.members_[at(member)]->round * group.points_) {}

  std::int64_t member() const { return member_; }
  std::int64_t count() const { return group_.members(); }
  std::int64_t wrapped(std::int64_t index) const { return ((index % count()) + count()) % count(); }

  /// Publishes this member's progress to the others.
  void pass(std::uint64_t point) {
    group_.members_[at(member_)]->progress.advance_to(base_ + point);
  }
  void finish() {
    pass(group_.points_);
    ++group_.members_[at(member_)]->round;
  }

  void await(std::int64_t other, std::uint64_t point) {
    Counter& progress = group_.members_[at(other)]->progress;
    if (progress.value() >= base_ + point) return;
    observer_.peer_waits->begin(ticks());
    if (!progress.wait_for(base_ + point, patience_)) {
      throw RunError(ErrorKind::Timeout, std::string(to_string(group_.request_.op)) + ' ' +
                                             std::to_string(group_.request_.group) + ": member " +
                                             std::to_string(member_) +
                                             " waited in vain for member " + std::to_string(other));
    }
    observer_.peer_waits->end(ticks());
  }
  void await_end(std::int64_t other) { await(other, group_.points_); }

  void add_from(std::int64_t other, Range range) {
    add_chunk_from(other, range);
    received(other, range.size());
  }
  void copy_from(std::int64_t other, Range range) {
    copy_chunk_from(other, range);
    received(other, range.size());
  }
  void take(const ScheduledReceive& next) {
    next.taking == Taking::Add ? add_chunk_from(next.from, next.range)
                               : copy_chunk_from(next.from, next.range);
    if (next.ends_message) received(next.from, next.message_elements);
  }
  Range all() const { return {0, group_.elements_}; }
  Range share_of(std::int64_t index) const {
    return share(group_.elements_, count(), wrapped(index));
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  std::byte* element(std::int64_t member, std::int64_t index) {
    return group_.members_[at(member)]->buffer + bytes_of(index);
  }
  std::int64_t bytes_of(std::int64_t elements) const { return elements * group_.element_bytes_; }
  void add_chunk_from(std::int64_t other, Range range) {
    add_elements(group_.request_.element, element(member_, range.begin),
                 element(other, range.begin), range.size());
  }
  void copy_chunk_from(std::int64_t other, Range range) {
    std::memcpy(element(member_, range.begin), element(other, range.begin),
                at(bytes_of(range.size())));
  }
  void received(std::int64_t other, std::int64_t elements) {
    observer_.received(other, bytes_of(elements));
  }
  AllReduceGroup& group_;
  std::int64_t member_;
  const Patience& patience_;
  const Observer& observer_;
  std::uint64_t base_;
};

AllReduceGroup::AllReduceGroup(Request request)
    : request_(std::move(request)), element_bytes_(size_of(request_.element)) {
  check(request_.op == Op::AllReduce || request_.algorithm == kRing,
        "halves of an all_reduce are of a ring");
  for (std::int64_t m = 0; m < members(); ++m) members_.push_back(std::make_unique<Member>());
  points_ = 2 * static_cast<std::uint64_t>(members()) + 2;
}

void AllReduceGroup::join(std::int64_t member, void* buffer, std::int64_t elements) {
  check(elements_ == 0 || elements_ == elements, "members of an all_reduce agree in size");
  elements_ = elements;
  if (is_by_messages(request_.algorithm) && plans_.empty()) plan();
  members_.at(static_cast<std::size_t>(member))->buffer = static_cast<std::byte*>(buffer);
}

void AllReduceGroup::run(std::int64_t member, const Patience& patience, const Observer& observer) {
  if (members() == 1) return;
  Turn turn(*this, member, patience, observer);
  turn.pass(1);
  if (request_.algorithm == kRing) {
    ring(turn);
  } else if (request_.algorithm == kReduceToOne) {
    reduce_to_one(turn);
  } else if (is_by_messages(request_.algorithm)) {
    by_schedule(turn);
  } else {
    check(request_.algorithm == kHierarchicalCopy, "an all_reduce algorithm of this file");
    hierarchical_copy(turn);
  }
}

void AllReduceGroup::plan() {
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  for (std::int64_t m = 0; m < members(); ++m) {
    plans_.push_back({.schedule = schedule_collective({.algorithm = request_.algorithm,
                                                       .members = members(),
                                                       .member = m,
                                                       .group = request_.group,
                                                       .elements = elements_,
                                                       .chunk_elements = kChunkElements,
                                                       .part_of = {}}),
                      .taken = {},
                      .offered = {}});
  }
  for (std::int64_t m = 0; m < members(); ++m) {
    Plan& own = plans_[at(m)];
    own.taken.resize(own.schedule.sends.size());
    points_ = std::max(points_, 2 + static_cast<std::uint64_t>(own.schedule.receives.size()));
  }
  for (std::int64_t m = 0; m < members(); ++m) {
    std::map<std::int64_t, std::int64_t> next;  // send to this member, by sender
    const std::vector<ScheduledReceive>& receives = plans_[at(m)].schedule.receives;
    for (std::size_t r = 0; r < receives.size(); ++r) {
      Plan& sender = plans_[at(receives[r].from)];
      std::int64_t& send = next[receives[r].from];
      while (sender.schedule.sends.at(at(send)).to != m) ++send;
      const auto after = static_cast<std::uint64_t>(sender.schedule.sends[at(send)].after_receives);
      plans_[at(m)].offered.push_back({.member = receives[r].from, .point = 1 + after});
      sender.taken[at(send++)] = {.member = m, .point = 2 + r};
    }
  }
}

/// Progress: 1 + k after the member's k-th chunk.
void AllReduceGroup::by_schedule(Turn& turn) {
  const Plan& own = plans_[static_cast<std::size_t>(turn.member())];
  std::size_t left = 0;  // sends that have been taken
  std::uint64_t point = 1;
  const auto await_taken = [&](std::size_t sends) {
    for (; left < sends; ++left) turn.await(own.taken[left].member, own.taken[left].point);
  };
  for (std::size_t r = 0; r < own.offered.size(); ++r) {
    const ScheduledReceive& next = own.schedule.receives[r];
    await_taken(static_cast<std::size_t>(next.after_sends));
    turn.await(own.offered[r].member, own.offered[r].point);
    turn.take(next);
    turn.pass(++point);
  }
  await_taken(own.taken.size());
  turn.finish();
}

void AllReduceGroup::ring(Turn& turn) {
  const std::int64_t m = turn.member();
  const std::int64_t n = turn.count();
  const std::int64_t previous = turn.wrapped(m - 1);
  const Range steps = ring_steps(request_.op, n);
  std::uint64_t point = 1;
  for (std::int64_t s = steps.begin; s < steps.end; ++s) {
    turn.await(previous, point);
    const Range elements = turn.share_of(m - 1 - s);
    s < n - 1 ? turn.add_from(previous, elements) : turn.copy_from(previous, elements);
    turn.pass(++point);
  }
  turn.finish();
  turn.await_end(turn.wrapped(m + 1));  // the next member reads this one's buffer
}

void AllReduceGroup::reduce_to_one(Turn& turn) {
  const std::int64_t n = turn.count();
  if (turn.member() != 0) {
    turn.await(0, 2);
    turn.copy_from(0, turn.all());
    turn.finish();
    return;
  }
  for (std::int64_t other = 1; other < n; ++other) {
    turn.await(other, 1);
    turn.add_from(other, turn.all());
  }
  turn.pass(2);
  for (std::int64_t other = 1; other < n; ++other) turn.await_end(other);
  turn.finish();
}

/// Progress: 2 when a root has summed its half, 3 when a root holds the result.
void AllReduceGroup::hierarchical_copy(Turn& turn) {
  const Halves split = halves(turn.count(), request_.group);
  const std::int64_t m = turn.member();
  const bool first = m < split.first_size;
  const std::int64_t root = first ? split.first_root : split.second_root;
  const Range half = first ? Range{0, split.first_size} : Range{split.first_size, turn.count()};
  if (m != root) {
    turn.await(root, 3);
    turn.copy_from(root, turn.all());
    turn.finish();
    return;
  }
  for (std::int64_t other = half.begin; other < half.end; ++other) {
    if (other == m) continue;
    turn.await(other, 1);
    turn.add_from(other, turn.all());
  }
  turn.pass(2);
  if (first) {
    turn.await(split.second_root, 2);
    turn.add_from(split.second_root, turn.all());
  } else {
    turn.await(split.first_root, 3);
    turn.copy_from(split.first_root, turn.all());
  }
  turn.pass(3);
  for (std::int64_t other = half.begin; other < half.end; ++other) {
    if (other != m) turn.await_end(other);
  }
  if (first) turn.await_end(split.second_root);
  turn.finish();
}

}  // namespace regatta::comm
