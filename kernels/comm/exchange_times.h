// SPDX-License-Identifier: Apache-2.0
//
// Times of exchanges that transports measure for each place: how late workers arrive, and the
// phases of a push at a server. A single clock measures each span, except lateness at a collective
// across processes: that compares clocks of several processes, corrected by measured offsets, and
// late_uncertainty_ns bounds the error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kernels/base/merging.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta::comm {

struct ExchangeTimes {
  SpanHistogram late;  ///< from the first worker's arrival or push to this worker's
  std::int64_t late_uncertainty_ns = 0;  ///< error bound of each `late`, +-; 0 with one clock
  SpanHistogram wait;                    ///< a worker's waits for others inside a collective
  SpanHistogram barrier;  ///< at a server: from the first worker's push of a step to the last's
  SpanHistogram queue;    ///< at a server: from a message's last chunk until its lane has it
  SpanHistogram wire;     ///< at a server: from a message's first chunk to its last
  /// For a worker, the number of its pushes (one step's gradients) that every server has received;
  /// for a server, the number of pushes that it has received.
  std::optional<std::int64_t> pushes;
};

/// Offset and drift of a process's clock from process 0's.
struct ClockFacts {
  std::int64_t offset_ns = 0;  ///< process 0's clock minus this one, before the first step
  std::int64_t drift_ppb = 0;  ///< growth of that offset since then. Units: parts per billion
  std::int64_t error_ns = 0;   ///< bound on the error of an offset, in either direction

  bool operator==(const ClockFacts&) const = default;
};

using ExchangeTimesByPlace = std::map<Place, ExchangeTimes>;

template <FieldsOf<ExchangeTimes> T, typename Field>
void for_each_field(T& times, Field&& field) {
  field("late", times.late, Merging<AddUp>());
  field("late_uncertainty_ns", times.late_uncertainty_ns, Merging<KeepLargest>());
  field("wait", times.wait, Merging<AddUp>());
  field("barrier", times.barrier, Merging<AddUp>());
  field("queue", times.queue, Merging<AddUp>());
  field("wire", times.wire, Merging<AddUp>());
  field("pushes", times.pushes, Merging<KeepLeast, AddUp>());
}

template <FieldsOf<ClockFacts> T, typename Field>
void for_each_field(T& clock, Field&& field) {
  field("offset_ns", clock.offset_ns);
  field("drift_ppb", clock.drift_ppb);
  field("error_ns", clock.error_ns);
}

/// Adds to `sum` another part of the same place's times, measured at another node or in another
/// process.
inline void add(ExchangeTimes& sum, const ExchangeTimes& part) { merge<Across::Parts>(sum, part); }

inline void add(ExchangeTimesByPlace& sums, const ExchangeTimesByPlace& parts) {
  for (const auto& [place, part] : parts) add(sums[place], part);
}

}  // namespace regatta::comm
