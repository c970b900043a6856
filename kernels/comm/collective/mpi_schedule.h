// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce over processes as data: what one member sends and receives, to and from which,
// and what must come first. Everything travels in chunks of a fixed size, so that adding one chunk
// overlaps receiving the next. No call of any library here: tests run schedules in memory.
//
// ring and reduce_to_one add in the order of all_reduce.h, element by element, and so give the same
// bits however their members are dealt to processes. hierarchical_copy reduces each part (the
// members of a process or host) to its root, which adds the others in order; the roots are a ring;
// then each root passes the result on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta {

/// What becomes of elements that arrive.
enum class Taking : std::uint8_t { Add, Copy };

struct ScheduledSend {
  std::int64_t to = 0;              ///< member
  Range range;                      ///< elements of the buffer
  std::int64_t after_receives = 0;  ///< not before so many of this member's receives are done
};

struct ScheduledReceive {
  std::int64_t from = 0;
  Range range;
  Taking taking = Taking::Copy;
  std::int64_t after_sends = 0;  ///< its memory is not written before so many sends are done
  bool begins_message = false;   ///< chunks of one share, or of one whole buffer, are one message
  bool ends_message = false;
};

/// Sends start in order, receives are done in order. The k-th send from a to b is b's k-th receive
/// from a.
struct Schedule {
  std::vector<ScheduledSend> sends;
  std::vector<ScheduledReceive> receives;
};

/// What a schedule is for.
struct ScheduleRequest {
  std::string_view algorithm;
  std::int64_t members = 1;
  std::int64_t member = 0;
  std::int64_t group = 0;
  std::int64_t elements = 0;
  std::int64_t chunk_elements = 0;
  std::span<const std::int64_t> part_of;  ///< by member
};

/// ring, reduce_to_one, hierarchical_copy.
Schedule schedule_all_reduce(const ScheduleRequest& request);

/// What comes before and after the roots' own exchange, where a library does that.
Schedule schedule_to_root(const ScheduleRequest& request);
Schedule schedule_from_root(const ScheduleRequest& request);

}  // namespace regatta
