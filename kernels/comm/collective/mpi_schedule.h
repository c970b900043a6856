// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce, or one of its halves, as data: the sends and receives of one member, the other
// ends, and what must come first. mpi_runner.h runs it over processes; all_reduce.h runs those that
// are given as messages (collective_messages.h) between threads, too. Everything travels in chunks
// of a fixed size, so that adding one chunk overlaps receiving the next. It calls no library: tests
// run schedules in memory.
//
// ring and reduce_to_one add in the order of all_reduce.h, element by element, and so give the same
// bits however their members are dealt to processes. hierarchical_copy reduces each part (the
// members of a process or host) to its root, which adds the others in order; the roots are a ring;
// then each root passes the result on. Messages of a step travel chunk by chunk in turn, and a
// chunk goes on when what is to be added to it has come.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/collective_messages.h"

namespace regatta {

struct ScheduledSend {
  std::int64_t to = 0;              ///< member
  Range range;                      ///< elements of the buffer
  std::int64_t after_receives = 0;  ///< starts after this many of the member's receives
};

struct ScheduledReceive {
  std::int64_t from = 0;
  Range range;
  Taking taking = Taking::Copy;
  std::int64_t after_sends = 0;  ///< writes its memory after this many sends
  bool begins_message = false;   ///< chunks of one share, or of one whole buffer, are one message
  bool ends_message = false;
  std::int64_t message_elements = 0;  ///< of the whole message
};

/// Sends start in order, receives are done in order. The k-th send from a to b is b's k-th receive
/// from a.
struct MessageSchedule {
  std::vector<ScheduledSend> sends;
  std::vector<ScheduledReceive> receives;
};

/// The inputs of a schedule.
struct ScheduleRequest {
  Op op = Op::AllReduce;  ///< the others are halves of a ring
  std::string_view algorithm;
  std::int64_t members = 1;
  std::int64_t member = 0;
  std::int64_t group = 0;
  std::int64_t elements = 0;
  std::int64_t chunk_elements = 0;
  std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the members allow
  std::span<const std::int64_t> part_of;  ///< by member
};

/// ring, reduce_to_one, hierarchical_copy, double_tree, torus. The buffer is the bucket: a
/// reduce_scatter leaves the member's share there, an all_gather finds it there.
MessageSchedule schedule_collective(const ScheduleRequest& request);

/// The steps before and after the roots' exchange, if a library does that exchange.
MessageSchedule schedule_to_root(const ScheduleRequest& request);
MessageSchedule schedule_from_root(const ScheduleRequest& request);

}  // namespace regatta
