// SPDX-License-Identifier: Apache-2.0
//
// The sends and receives of one member in an all_reduce, reduce_scatter or all_gather, as data with
// dependencies. mpi_runner.h runs a schedule between processes; all_reduce.h runs the schedules of
// double_tree and torus (collective_messages.h) between threads, too. Chunks have a fixed size, so
// that adding one chunk overlaps receiving the next. This file calls no library: tests run
// schedules in memory.
//
// ring and reduce_to_one add each element in the same order as all_reduce.h, so results are bitwise
// equal regardless of the process that each member is in. hierarchical_copy reduces each part (the
// members of a process or host) to its root, which adds the others in order; the roots form a ring;
// then each root passes the result on. Messages of one step are sent chunk by chunk, in turn, and a
// chunk is passed on when its addend has arrived.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/collective_messages.h"

namespace regatta::comm {

struct ScheduledSend {
  std::int64_t to = 0;              ///< receiving member
  Range range;                      ///< elements of the buffer
  std::int64_t after_receives = 0;  ///< starts after this many of the member's own receives
};

struct ScheduledReceive {
  std::int64_t from = 0;
  Range range;
  Taking taking = Taking::Copy;
  std::int64_t after_sends = 0;  ///< overwrites its range after this many of the member's sends
  bool begins_message = false;   ///< a message is all chunks of one share or of the whole buffer
  bool ends_message = false;
  std::int64_t message_elements = 0;  ///< number of elements of the whole message
};

/// Sends start in order, receives complete in order. The k-th send from a to b matches b's k-th
/// receive from a.
struct MessageSchedule {
  std::vector<ScheduledSend> sends;
  std::vector<ScheduledReceive> receives;
};

struct ScheduleRequest {
  Op op = Op::AllReduce;  ///< reduce_scatter and all_gather require a ring
  std::string_view algorithm;
  std::int64_t members = 1;
  std::int64_t member = 0;
  std::int64_t group = 0;
  std::int64_t elements = 0;
  std::int64_t chunk_elements = 0;
  std::span<const std::int64_t> part_of;  ///< part_of[m] is member m's process or host
};

/// Makes a schedule of ring, reduce_to_one, hierarchical_copy, double_tree or torus. The buffer is
/// the whole bucket: reduce_scatter leaves the member's share of the sum in its place there, and
/// all_gather reads the member's share from that place.
MessageSchedule schedule_collective(const ScheduleRequest& request);

/// schedule_to_root() makes the steps before an exchange among roots that a library performs,
/// schedule_from_root() the steps after it.
MessageSchedule schedule_to_root(const ScheduleRequest& request);
MessageSchedule schedule_from_root(const ScheduleRequest& request);

}  // namespace regatta::comm
