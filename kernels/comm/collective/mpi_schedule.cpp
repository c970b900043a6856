// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/collective/mpi_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

using Members = std::vector<std::int64_t>;

/// Writes a schedule in the order of the algorithm: a send waits for all receives before it, a
/// receive for those earlier sends of elements that it overwrites.
class Writer {
 public:
  explicit Writer(const ScheduleRequest& request) : request_(request) {}

  MessageSchedule take() { return std::move(schedule_); }
  std::int64_t self() const { return request_.member; }
  Range all() const { return {0, request_.elements}; }

  /// Splits a range into chunks; an empty range gives one, so that it travels as an empty message.
  std::vector<Range> chunks(Range range) const {
    std::vector<Range> all;
    std::int64_t begin = range.begin;
    do {
      const std::int64_t end = std::min(begin + request_.chunk_elements, range.end);
      all.push_back({begin, end});
      begin = end;
    } while (begin < range.end);
    return all;
  }

  void send(std::int64_t to, Range chunk) {
    schedule_.sends.push_back(
        {.to = to,
         .range = chunk,
         .after_receives = static_cast<std::int64_t>(schedule_.receives.size())});
  }

  /// Adds a send that waits only for earlier receives of the elements it sends.
  void send_when_there(std::int64_t to, Range chunk) {
    const auto overlaps = [chunk](const ScheduledReceive& receive) {
      return receive.range.begin < chunk.end && chunk.begin < receive.range.end;
    };
    const auto& receives = schedule_.receives;
    const auto last = std::find_if(receives.rbegin(), receives.rend(), overlaps);
    schedule_.sends.push_back({.to = to, .range = chunk, .after_receives = receives.rend() - last});
  }

  /// Adds the receive of `chunk`, which is part of `message`.
  void receive(std::int64_t from, Range chunk, Range message, Taking taking) {
    schedule_.receives.push_back({.from = from,
                                  .range = chunk,
                                  .taking = taking,
                                  .after_sends = sends_of(chunk),
                                  .begins_message = chunk.begin == message.begin,
                                  .ends_message = chunk.end == message.end,
                                  .message_elements = message.size()});
  }

 private:
  /// The number of sends up to the last one that overlaps with `range`.
  std::int64_t sends_of(Range range) const {
    const auto overlaps = [range](const ScheduledSend& send) {
      return send.range.begin < range.end && range.begin < send.range.end;
    };
    const auto& sends = schedule_.sends;
    return sends.rend() - std::find_if(sends.rbegin(), sends.rend(), overlaps);
  }

  const ScheduleRequest& request_;
  MessageSchedule schedule_;
};

/// Writes a ring. `self` is the writing member's index in `members`.
void write_ring(Writer& writer, const Members& members, std::int64_t self, Op op = Op::AllReduce) {
  const auto n = static_cast<std::int64_t>(members.size());
  if (n == 1) return;
  const auto wrapped = [n](std::int64_t index) { return ((index % n) + n) % n; };
  const std::int64_t next = members[static_cast<std::size_t>(wrapped(self + 1))];
  const std::int64_t previous = members[static_cast<std::size_t>(wrapped(self - 1))];
  const auto share_of = [&](std::int64_t index) {
    return share(writer.all().size(), n, wrapped(index));
  };
  const Range steps = ring_steps(op, n);
  for (Range chunk : writer.chunks(share_of(self - steps.begin))) writer.send(next, chunk);
  for (std::int64_t step = steps.begin; step < steps.end; ++step) {
    const Range message = share_of(self - 1 - step);
    for (Range chunk : writer.chunks(message)) {
      writer.receive(previous, chunk, message, step < n - 1 ? Taking::Add : Taking::Copy);
      if (step + 1 < steps.end) writer.send(next, chunk);
    }
  }
}

void write_to_root(Writer& writer, const Part& part) {
  for (Range chunk : writer.chunks(writer.all())) {
    if (writer.self() != part.root) {
      writer.send(part.root, chunk);
      continue;
    }
    for (std::int64_t other : part.members) {
      if (other != part.root) writer.receive(other, chunk, writer.all(), Taking::Add);
    }
  }
}

void write_from_root(Writer& writer, const Part& part) {
  for (Range chunk : writer.chunks(writer.all())) {
    if (writer.self() != part.root) {
      writer.receive(part.root, chunk, writer.all(), Taking::Copy);
      continue;
    }
    for (std::int64_t other : part.members) {
      if (other != part.root) writer.send(other, chunk);
    }
  }
}

/// Writes a reduction to the root, which sends each chunk back as soon as all have added to it.
void write_reduce_to_one(Writer& writer, const Part& part) {
  if (writer.self() != part.root) {
    write_to_root(writer, part);
    write_from_root(writer, part);
    return;
  }
  for (Range chunk : writer.chunks(writer.all())) {
    for (std::int64_t other : part.members) {
      if (other != part.root) writer.receive(other, chunk, writer.all(), Taking::Add);
    }
    for (std::int64_t other : part.members) {
      if (other != part.root) writer.send(other, chunk);
    }
  }
}

Members all_members(const ScheduleRequest& request) {
  Members all(static_cast<std::size_t>(request.members));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Part own_part(const ScheduleRequest& request) {
  for (Part& part : parts(request.part_of, request.group)) {
    const auto& members = part.members;
    if (std::find(members.begin(), members.end(), request.member) != members.end()) return part;
  }
  check(false, "every member has a part");
  return {};
}

void write_hierarchical_copy(Writer& writer, const ScheduleRequest& request) {
  const Part own = own_part(request);
  write_to_root(writer, own);
  if (writer.self() == own.root) {
    Members roots;
    for (const Part& part : parts(request.part_of, request.group)) roots.push_back(part.root);
    write_ring(writer, roots, std::find(roots.begin(), roots.end(), own.root) - roots.begin());
  }
  write_from_root(writer, own);
}

/// Writes the chunks of all messages in one order, by step, so that members cannot deadlock.
void write_messages(Writer& writer, const ScheduleRequest& request) {
  struct Chunk {
    std::int64_t step;
    std::size_t chunk;
    CollectiveMessage message;
    Range range;
  };
  std::vector<Chunk> all;
  for (const CollectiveMessage& message : messages_of({.algorithm = request.algorithm,
                                          .members = request.members,
                                          .elements = request.elements})) {
    if (message.from != writer.self() && message.to != writer.self()) continue;
    const std::vector<Range> chunks = writer.chunks(message.elements);
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      all.push_back({message.step, chunk, message, chunks[chunk]});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Chunk& a, const Chunk& b) {
    return std::pair(a.step, a.chunk) < std::pair(b.step, b.chunk);
  });
  for (const auto& [step, chunk, message, range] : all) {
    if (message.from == writer.self()) {
      writer.send_when_there(message.to, range);
    } else {
      writer.receive(message.from, range, message.elements, message.taking);
    }
  }
}

}  // namespace

MessageSchedule schedule_collective(const ScheduleRequest& request) {
  Writer writer(request);
  if (request.algorithm == kRing) {
    write_ring(writer, all_members(request), request.member, request.op);
  } else if (request.algorithm == kReduceToOne) {
    write_reduce_to_one(writer, {.members = all_members(request), .root = 0});
  } else if (is_by_messages(request.algorithm)) {
    write_messages(writer, request);
  } else {
    check(request.algorithm == kHierarchicalCopy, "an all_reduce algorithm of this file");
    write_hierarchical_copy(writer, request);
  }
  return writer.take();
}

MessageSchedule schedule_to_root(const ScheduleRequest& request) {
  Writer writer(request);
  write_to_root(writer, own_part(request));
  return writer.take();
}

MessageSchedule schedule_from_root(const ScheduleRequest& request) {
  Writer writer(request);
  write_from_root(writer, own_part(request));
  return writer.take();
}

}  // namespace regatta::comm
