// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/trace.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <ostream>

#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

std::uint64_t first_tick(const std::vector<TraceRow>& rows) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const TraceRow& row : rows) {
    for (const TraceEvent& event : row.events->events()) first = std::min(first, event.begin);
  }
  return first;
}

double microseconds(std::uint64_t span) { return static_cast<double>(span) * ns_per_tick() / 1000; }

}  // namespace

void write_chrome_trace(std::ostream& out, const std::vector<TraceRow>& rows) {
  const std::uint64_t origin = first_tick(rows);
  out << std::fixed << std::setprecision(3) << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (std::size_t tid = 0; tid < rows.size(); ++tid) {
    const TraceRow& row = rows[tid];
    out << separator << R"({"name":"thread_name","ph":"M","pid":0,"tid":)" << tid
        << R"(,"args":{"name":")" << row.name << "\"}}";
    separator = ",\n";
    for (const TraceEvent& event : row.events->events()) {
      const auto index = static_cast<std::size_t>(event.instruction);
      const bool waiting = event.instruction < 0;
      out << separator << R"({"name":")" << (waiting ? "wait" : row.instruction_names[index])
          << R"(","cat":")" << (waiting ? "wait" : row.instruction_categories[index])
          << R"(","ph":"X","ts":)" << microseconds(event.begin - origin) << R"(,"dur":)"
          << microseconds(event.end - event.begin) << R"(,"pid":0,"tid":)" << tid
          << R"(,"args":{"step":)" << event.step << "}}";
    }
  }
  out << "\n]}\n";
}

}  // namespace regatta
