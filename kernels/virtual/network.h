// SPDX-License-Identifier: Apache-2.0
//
// Flows of bytes through links that they share. Rates are max-min fair: they rise together until a
// link is full or a flow has reached its own most; its flows stay at that rate and the others rise
// on (progressive filling). They change when a flow begins or ends, among the flows that links
// connect with it. A flow may take more or less of a link than its rate, by a weight: so a core can
// be a link, and what computes a flow. Source: Bertsekas and Gallager, "Data Networks", 1992,
// section 6.5.2.
// Units: bytes, nanoseconds, bytes a nanosecond (GB/s).
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

/// A link on a flow's way.
struct Hop {
  int link = -1;
  double weight = 1;  ///< of the link's capacity that a rate of 1 takes
};

class Route {
 public:
  void add(int link, double weight = 1) { hops_.at(count_++) = {.link = link, .weight = weight}; }
  std::size_t count() const { return count_; }
  std::span<const Hop> all() const { return {hops_.data(), count_}; }

 private:
  static constexpr std::size_t kMost = 5;  ///< a sender, out, across, in, a receiver
  std::array<Hop, kMost> hops_{};
  std::size_t count_ = 0;
};

class Network {
 public:
  /// Ends of flows are events in `events`, which outlives this.
  explicit Network(EventQueue& events) : events_(events) {}

  /// Returns the link's number. `capacity` above 0.
  int add_link(double capacity);
  /// Begins a flow, whose rate is at most `most`; at least one of both limits it. Its end is an
  /// event of the kind. Returns its number, which its end names; numbers are used again.
  int begin(double now, const Route& route, double most, double bytes,
            EventKind ends = EventKind::FlowEnds);
  /// Gives all flows that are concerned by beginnings and ends their new rates. Called when
  /// everything of time `now` has happened, before time goes on.
  void settle(double now);
  /// Whether the event is the flow's end: others were made before its rate changed.
  bool ends(const Event& event) const;
  /// Whether it is such another one.
  bool is_outdated(const Event& event) const {
    return (event.kind == EventKind::FlowEnds || event.kind == EventKind::ComputeEnds) &&
           !ends(event);
  }
  /// Ends the flow.
  void end(int flow);
  /// Of a flow that is under way, since the last settle().
  double rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }
  /// How long a byte waits in front of the link if each flow that the link limits keeps `most`
  /// there, or what it has left; of several links that limit a flow alike, in front of its first.
  /// Flows as of the last settle(). Units: nanoseconds, bytes.
  double wait_ns(double now, int link, double most) const;

 private:
  struct Link {
    double capacity = 0;
    std::vector<int> flows;
    bool is_changed = false;
    double left = 0;  ///< of the capacity, while rates are found
    int unsettled = 0;
    double weight = 0;  ///< of the unsettled
  };
  struct Flow {
    Route route;
    double most = kNoLimit;
    double bytes = 0;  ///< left at `since`
    double since = 0;
    double rate = 0;
    int limited_by = -1;  ///< the link; -1: its own most
    EventKind ends = EventKind::FlowEnds;
    std::int64_t version = 0;  ///< of its end's event
    bool is_settled = false;
    bool is_found = false;  ///< while what is connected is looked for
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
  std::size_t replaced_ = 0;  ///< events, since outdated ones were dropped
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> changed_links_;
  std::vector<int> alone_;  ///< new flows without a link
  std::vector<int> connected_;
};

}  // namespace regatta::virtual_time
