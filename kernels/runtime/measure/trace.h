// SPDX-License-Identifier: Apache-2.0
//
// A timeline of a run in the Chrome trace format (chrome://tracing, Perfetto):
//   {"traceEvents": [{"name", "cat", "ph": "X", "ts" and "dur" in us, "pid", "tid", "args"}, ...]}
// Events are kept in memory that is allocated before the run; when it is full, later events are
// dropped.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace regatta {

struct TraceEvent {
  std::int32_t instruction = 0;  ///< index in the lane; -1: waiting
  std::int64_t step = 0;
  std::uint64_t begin = 0;  ///< ticks
  std::uint64_t end = 0;
};

/// Events of one lane. Threads: written by its lane alone.
class TraceBuffer {
 public:
  explicit TraceBuffer(std::size_t capacity) { events_.reserve(capacity); }
  void add(const TraceEvent& event) {
    if (events_.size() < events_.capacity()) events_.push_back(event);
  }
  const std::vector<TraceEvent>& events() const { return events_; }

 private:
  std::vector<TraceEvent> events_;
};

/// One lane's row of the timeline.
struct TraceRow {
  std::string name;
  std::vector<std::string> instruction_names;
  std::vector<std::string> instruction_categories;
  const TraceBuffer* events = nullptr;
};

void write_chrome_trace(std::ostream& out, const std::vector<TraceRow>& rows);

}  // namespace regatta
