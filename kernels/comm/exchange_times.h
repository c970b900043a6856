// SPDX-License-Identifier: Apache-2.0
//
// What transports measure of exchanges, by place: when workers came, and what a push went through
// at a server. Spans are taken on one clock each; only who came late to a collective over processes
// is told by several clocks, which were compared, and beside it what that cannot tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kernels/graph/graph.h"
#include "kernels/graph/merging.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

struct ExchangeTimes {
  SpanHistogram late;  ///< of a worker, behind the first to come: to a collective, or by its push
  std::int64_t late_uncertainty_ns = 0;  ///< of each span of it, either way; 0 by one clock
  SpanHistogram wait;                    ///< of a worker, inside a collective for the others
  SpanHistogram barrier;  ///< of a server: from the first worker's push of a step to the last's
  SpanHistogram queue;    ///< of a server: from a message's last chunk until its lane has it
  SpanHistogram wire;     ///< of a server: from a message's first chunk to its last
  /// Gradients of a step: those of a worker that every server has taken, or all that a server has.
  std::optional<std::int64_t> pushes;
};

/// A process's clock, as that of process 0 tells.
struct ClockFacts {
  std::int64_t offset_ns = 0;  ///< what process 0's clock showed beyond it before the first step
  std::int64_t drift_ppb = 0;  ///< what that has gained since. Units: parts per billion
  std::int64_t error_ns = 0;   ///< of an offset, at most, either way

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

/// Two parts of one place's account: of several nodes, or of several processes.
inline void add(ExchangeTimes& sum, const ExchangeTimes& part) { merge<Across::Parts>(sum, part); }

inline void add(ExchangeTimesByPlace& sums, const ExchangeTimesByPlace& parts) {
  for (const auto& [place, part] : parts) add(sums[place], part);
}

}  // namespace regatta
