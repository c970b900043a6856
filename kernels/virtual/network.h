// SPDX-License-Identifier: Apache-2.0
//
// Flows of bytes through shared links. Rates are max-min fair, by progressive filling: all rates
// rise together until a link is full or a flow reaches its own limit; the flows of a full link keep
// that rate, and the others rise further. When a flow begins or ends, rates change for all flows
// that share links with it, directly or through other flows. A flow's weight at a link is the
// capacity that a rate of 1 takes there, so a core can be modelled as a link and computing as a
// flow. Source: Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2. Units: bytes,
// nanoseconds, bytes per nanosecond (GB/s).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/virtual/events.h"

namespace regatta::virtual_time {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// A link on a flow's route.
struct Hop {
  int link = -1;
  double weight = 1;  ///< capacity of the link that a rate of 1 takes
};

class Route {
 public:
  void add(int link, double weight = 1) { hops_.at(count_++) = {.link = link, .weight = weight}; }
  std::size_t count() const { return count_; }
  std::span<const Hop> all() const { return {hops_.data(), count_}; }

 private:
  static constexpr std::size_t kMost = 5;  ///< sender's cores, out, across, in, receiver's cores
  std::array<Hop, kMost> hops_{};
  std::size_t count_ = 0;
};

class Network {
 public:
  /// Adds an event to `events` for the end of each flow. `events` must outlive this object.
  explicit Network(EventQueue& events) : events_(events) {}

  /// Adds a link and returns its number; `capacity` is above 0.
  int add_link(double capacity);
  /// Begins a flow with a rate of at most `most` and returns its number; the route or `most` must
  /// limit the rate. When the flow ends, an event of kind `ends` with this number as its index
  /// occurs. Numbers are reused.
  int begin(double now, const Route& route, double most, double bytes,
            EventKind ends = EventKind::FlowEnds);
  /// Computes the new rates of all flows affected by begun and ended flows. Call it when everything
  /// at time `now` has happened, before time advances.
  void settle(double now);
  /// Whether the event is the end of its flow as currently expected; false if the flow's rate has
  /// changed since the event was added.
  bool ends(const Event& event) const;
  /// Whether the event is the end of a flow whose rate has changed since the event was added.
  bool is_outdated(const Event& event) const {
    return (event.kind == EventKind::FlowEnds || event.kind == EventKind::ComputeEnds) &&
           !ends(event);
  }
  void end(int flow);
  /// Returns the rate of a flow in progress, as of the last settle().
  double rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }
  /// Returns the time for which a byte waits at the link if each flow that the link limits keeps
  /// `most` bytes queued there, or all its remaining bytes if fewer. A flow that several links
  /// limit equally queues at the first of them. Uses the flows as of the last settle(). Units:
  /// nanoseconds, bytes.
  double wait_ns(double now, int link, double most) const;

 private:
  struct Link {
    double capacity = 0;
    std::vector<int> flows;
    bool is_changed = false;
    double left = 0;  ///< capacity left, while rates are computed
    int unsettled = 0;
    double weight = 0;  ///< sum of the unsettled flows' weights
  };
  struct Flow {
    Route route;
    double most = kNoLimit;
    double bytes = 0;  ///< left at `since`
    double since = 0;
    double rate = 0;
    int limited_by = -1;  ///< the link; -1: `most`
    EventKind ends = EventKind::FlowEnds;
    std::int64_t version = 0;  ///< of its end's event
    bool is_settled = false;
    bool is_found = false;  ///< while connected flows are collected
  };

  void change(int link);
  void find_connected();
  void fill();
  Flow& flow(int number) { return flows_[static_cast<std::size_t>(number)]; }
  Link& link(int number) { return links_[static_cast<std::size_t>(number)]; }
  int first_limit(const Flow& flow, double rate) const;
  void settle_at(int number, double rate, int limited_by);
  void foresee_end(double now, int number);

  EventQueue& events_;
  std::size_t replaced_ = 0;  ///< events outdated since they were last dropped
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> changed_links_;
  std::vector<int> alone_;  ///< new flows without a link
  std::vector<int> connected_;
};

}  // namespace regatta::virtual_time
