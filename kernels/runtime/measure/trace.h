// SPDX-License-Identifier: Apache-2.0
//
// A timeline of a run in the Chrome trace format (Perfetto, chrome://tracing):
//   {"traceEvents": [{"name", "cat", "ph": "X", "ts" and "dur" in us, "pid", "tid", "args"}, ...]}
// `pid` is the rank of a process of the run; `tid` is a lane, numbered across all processes.
// Metadata events name both. Spans of a lane do not overlap: they begin and end at whole
// nanoseconds of one clock, and the duration is the difference. A duration rounded separately could
// reach into the next span, which Perfetto would then drop.
// Events are kept in memory that is allocated before the run. When it is full, later events are
// dropped, and a single span with their number replaces them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "kernels/base/fields.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {

struct TraceEvent {
  std::int32_t instruction = 0;  ///< index in the lane; -1: waiting
  std::int64_t step = 0;
  std::uint64_t begin = 0;  ///< ticks
  std::uint64_t end = 0;
};

/// The events of one lane. Threads: written only from the lane's thread.
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
  std::uint64_t last_end() const { return last_end_; }  ///< end of the last dropped event; ticks

 private:
  std::vector<TraceEvent> events_;
  std::int64_t dropped_ = 0;
  std::uint64_t last_end_ = 0;
};

/// The name and category of a lane's spans.
struct TraceLabel {
  std::string name;
  std::string category;
};

/// One lane's row of the timeline. Entry k of each history is span k. Units: nanoseconds.
struct TraceRow {
  std::string name;
  std::vector<TraceLabel> labels;
  std::vector<std::uint32_t> label;  ///< index of each span's label
  std::vector<std::int64_t> step;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
};

/// The rows of one process, timed by one clock.
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

/// Appends the events to the row, and a span for dropped events. The row's labels must be set:
/// label 0 is waiting, label i + 1 is instruction i.
void add_spans(TraceRow& row, const TraceBuffer& events, const TickMap& clock);

/// Writes the traces of all processes of a run, which must be timed by one clock. Time zero is the
/// beginning of the first span.
void write_chrome_trace(std::ostream& out, const std::vector<ProcessTrace>& processes);

}  // namespace regatta
