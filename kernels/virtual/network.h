// SPDX-License-Identifier: Apache-2.0
//
// Flows of bytes through links that they share. Rates are max-min fair: they rise together until a
// link is full or a flow has reached its own most; its flows stay at that rate and the others rise
// on (progressive filling). They change when a flow begins or ends, among the flows that links
// connect with it. Source: Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2.
// Units: bytes, nanoseconds, bytes a nanosecond (GB/s).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/virtual/events.h"

namespace regatta::virtual_time {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The links on a flow's way.
struct Route {
  static constexpr std::size_t kMost = 3;  ///< out of a host, through the core, into a host
  std::array<int, kMost> links{};
  std::size_t count = 0;

  void add(int link) { links.at(count++) = link; }
  std::span<const int> all() const { return {links.data(), count}; }
};

class Network {
 public:
  /// Completions are events of this kind in `events`, which outlives this.
  explicit Network(EventQueue& events, EventKind ends = EventKind::FlowEnds)
      : events_(events), ends_(ends) {}

  /// Returns the link's number. `capacity` above 0.
  int add_link(double capacity);
  /// Begins a flow, whose rate is at most `most`; at least one of both limits it. Returns its
  /// number, which its end names; numbers are used again.
  int begin(double now, const Route& route, double most, double bytes);
  /// Gives all flows that are concerned by beginnings and ends their new rates. Called when
  /// everything of time `now` has happened, before time goes on.
  void settle(double now);
  /// Whether the event is the flow's end: others were made before its rate changed.
  bool ends(const Event& event) const;
  /// Ends the flow.
  void end(int flow);
  /// Of a flow that is under way, since the last settle().
  double rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }

 private:
  struct Link {
    double capacity = 0;
    std::vector<int> flows;
    bool is_changed = false;
    double left = 0;  ///< of the capacity, while rates are found
    int unsettled = 0;
  };
  struct Flow {
    Route route;
    double most = kNoLimit;
    double bytes = 0;  ///< left at `since`
    double since = 0;
    double rate = 0;
    std::int64_t version = 0;  ///< of its end's event
    bool is_settled = false;
    bool is_found = false;  ///< while what is connected is looked for
  };

  void change(int link);
  void find_connected();
  void fill();
  Flow& flow(int number) { return flows_[static_cast<std::size_t>(number)]; }
  Link& link(int number) { return links_[static_cast<std::size_t>(number)]; }
  void settle_at(int number, double rate);

  EventQueue& events_;
  EventKind ends_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> changed_links_;
  std::vector<int> alone_;  ///< new flows without a link
  std::vector<int> connected_;
};

}  // namespace regatta::virtual_time
