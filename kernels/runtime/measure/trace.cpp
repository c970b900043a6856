// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/trace.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <ostream>

namespace regatta {
namespace {

std::int64_t first_ns(const std::vector<ProcessTrace>& processes) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const ProcessTrace& process : processes) {
    for (const TraceRow& row : process.rows) {
      if (!row.begin_ns.empty()) first = std::min(first, row.begin_ns.front());
    }
  }
  return first;
}

struct Microseconds {
  std::int64_t ns = 0;  ///< at least 0
};

std::ostream& operator<<(std::ostream& out, const Microseconds& time) {
  return out << time.ns / 1000 << '.' << std::setw(3) << std::setfill('0') << time.ns % 1000;
}

/// A metadata event: an argument of a process, or of one of its threads.
template <typename Value>
void write_fact(std::ostream& out, const char* fact, int pid, int tid, const char* argument,
                const Value& value) {
  out << R"({"name":")" << fact << R"(","ph":"M","pid":)" << pid << R"(,"tid":)" << tid
      << R"(,"args":{")" << argument << R"(":)" << value << "}}";
}

void write_row(std::ostream& out, const TraceRow& row, int pid, int tid, std::int64_t zero_ns) {
  for (std::size_t span = 0; span < row.label.size(); ++span) {
    const TraceLabel& label = row.labels[row.label[span]];
    out << ",\n"
        << R"({"name":")" << label.name << R"(","cat":")" << label.category << R"(","ph":"X","ts":)"
        << Microseconds{row.begin_ns[span] - zero_ns} << R"(,"dur":)"
        << Microseconds{row.end_ns[span] - row.begin_ns[span]} << R"(,"pid":)" << pid
        << R"(,"tid":)" << tid << R"(,"args":{"step":)" << row.step[span] << "}}";
  }
}

}  // namespace

void add_spans(TraceRow& row, const TraceBuffer& events, const TickMap& clock) {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (const TraceEvent& event : events.events()) {
    // The counters of two cores may differ slightly.
    const std::int64_t begin_ns = std::max(clock.ns(event.begin), last_ns);
    last_ns = std::max(clock.ns(event.end), begin_ns);
    row.label.push_back(static_cast<std::uint32_t>(event.instruction + 1));
    row.step.push_back(event.step);
    row.begin_ns.push_back(begin_ns);
    row.end_ns.push_back(last_ns);
  }
  if (events.dropped() == 0) return;
  row.label.push_back(static_cast<std::uint32_t>(row.labels.size()));
  row.labels.push_back({.name = std::to_string(events.dropped()) + " spans that were not kept",
                        .category = "not kept"});
  row.step.push_back(row.step.empty() ? 0 : row.step.back());
  row.begin_ns.push_back(last_ns);
  row.end_ns.push_back(std::max(clock.ns(events.last_end()), last_ns));
}

void write_chrome_trace(std::ostream& out, const std::vector<ProcessTrace>& processes) {
  const std::int64_t zero_ns = first_ns(processes);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  int tid = 0;
  for (const ProcessTrace& process : processes) {
    const int pid = process.rank;
    const int first_tid = tid + 1;
    out << separator;
    write_fact(out, "process_name", pid, first_tid, "name", '"' + process.name + '"');
    separator = ",\n";
    out << separator;
    write_fact(out, "process_sort_index", pid, first_tid, "sort_index", pid);
    for (const TraceRow& row : process.rows) {
      ++tid;
      out << separator;
      write_fact(out, "thread_name", pid, tid, "name", '"' + row.name + '"');
      out << separator;
      write_fact(out, "thread_sort_index", pid, tid, "sort_index", tid);
      write_row(out, row, pid, tid, zero_ns);
    }
  }
  out << "\n]}\n";
}

}  // namespace regatta
