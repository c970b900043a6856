// SPDX-License-Identifier: Apache-2.0
//
// Times that transports measure of exchanges, by place: when workers arrive, and the phases of a
// push at a server. Each span is measured by one clock. Only lateness at a collective across
// processes uses several, corrected by measured offsets; late_uncertainty_ns bounds its error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kernels/graph/graph.h"
#include "kernels/graph/merging.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

struct ExchangeTimes {
  SpanHistogram late;  ///< of a worker behind the first: at a collective, or by its push
  std::int64_t late_uncertainty_ns = 0;  ///< error bound of each span, either way; 0 by one clock
  SpanHistogram wait;                    ///< of a worker for the others, inside a collective
  SpanHistogram barrier;  ///< at a server: from the first worker's push of a step to the last's
  SpanHistogram queue;    ///< at a server: from a message's last chunk until its lane has it
  SpanHistogram wire;     ///< at a server: from a message's first chunk to its last
  /// Pushes (a step's gradients) taken: of a worker, by every server; of a server, by itself.
  std::optional<std::int64_t> pushes;
};

/// A process's clock compared with that of process 0.
struct ClockFacts {
  std::int64_t offset_ns = 0;  ///< process 0's clock minus this one, before the first step
  std::int64_t drift_ppb = 0;  ///< growth of that offset since then. Units: parts per billion
  std::int64_t error_ns = 0;   ///< bound of an offset's error, either way

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

/// Merges two parts of one place's account: of several nodes, or of several processes.
inline void add(ExchangeTimes& sum, const ExchangeTimes& part) { merge<Across::Parts>(sum, part); }

inline void add(ExchangeTimesByPlace& sums, const ExchangeTimesByPlace& parts) {
  for (const auto& [place, part] : parts) add(sums[place], part);
}

}  // namespace regatta
