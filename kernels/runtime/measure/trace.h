// SPDX-License-Identifier: Apache-2.0
//
// A timeline of a run in the Chrome trace format (Perfetto, chrome://tracing):
//   {"traceEvents": [{"name", "cat", "ph": "X", "ts" and "dur" in us, "pid", "tid", "args"}, ...]}
// A process of the run is a process there, by its rank, and a lane is a thread, numbered over all
// processes; metadata events name both. Spans of a lane stand one after the other. Their ends are
// whole nanoseconds of one clock, and a duration is the difference of two of them: rounded for
// itself it would reach into the next span, which Perfetto then drops.
// Events are kept in memory that is allocated before the run. When it is full, one span stands for
// all later ones and tells how many they are.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "kernels/graph/fields.h"
#include "kernels/runtime/measure/clock.h"

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
    if (events_.size() < events_.capacity()) {
      events_.push_back(event);
      return;
    }
    ++dropped_;
    last_end_ = event.end;
  }
  const std::vector<TraceEvent>& events() const { return events_; }
  std::int64_t dropped() const { return dropped_; }
  std::uint64_t last_end() const { return last_end_; }  ///< of those that were dropped; ticks

 private:
  std::vector<TraceEvent> events_;
  std::int64_t dropped_ = 0;
  std::uint64_t last_end_ = 0;
};

/// What a lane does, as its spans show it.
struct TraceLabel {
  std::string name;
  std::string category;
};

/// One lane's row of the timeline. Entry k of each history is span k. Units: nanoseconds.
struct TraceRow {
  std::string name;
  std::vector<TraceLabel> labels;
  std::vector<std::uint32_t> label;  ///< of a span, by index
  std::vector<std::int64_t> step;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
};

/// The rows of one process, by one clock.
struct ProcessTrace {
  int rank = 0;
  std::string name;
  std::vector<TraceRow> rows;
};

template <FieldsOf<TraceLabel> T, typename Field>
void for_each_field(T& label, Field&& field) {
  field("name", label.name);
  field("category", label.category);
}

template <FieldsOf<TraceRow> T, typename Field>
void for_each_field(T& row, Field&& field) {
  field("name", row.name);
  field("labels", row.labels);
  field("label", row.label);
  field("step", row.step);
  field("begin_ns", row.begin_ns);
  field("end_ns", row.end_ns);
}

template <FieldsOf<ProcessTrace> T, typename Field>
void for_each_field(T& trace, Field&& field) {
  field("rank", trace.rank);
  field("name", trace.name);
  field("rows", trace.rows);
}

/// Appends the events to the row, whose labels are there: waiting, then each instruction. Adds one
/// for events that were dropped.
void add_spans(TraceRow& row, const TraceBuffer& events, const TickMap& clock);

/// All processes of a run, by one clock, whose zero becomes the first span's begin.
void write_chrome_trace(std::ostream& out, const std::vector<ProcessTrace>& processes);

}  // namespace regatta
