// SPDX-License-Identifier: Apache-2.0
//
// Messages between processes in virtual time. A channel carries the messages from one process to
// another, one at a time, like a connection. A message occupies its channel for its fixed cost and
// then while its bytes travel, as a flow through the links between the hosts. The latency follows,
// during which the next message may already be under way. If other flows fill a link of the route,
// a message first waits for the bytes that they keep queued there (Cluster::queue_bytes). If hosts
// share a machine's cores, a message takes the measured core time (Way::core_points) at each end,
// spread over its bytes. Without this measurement, it takes one core at each end (half a core with
// Open MPI) at the measured rate, and proportionally less at a lower rate.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "kernels/virtual/cluster.h"
#include "kernels/virtual/events.h"
#include "kernels/virtual/network.h"

namespace regatta::virtual_time {

/// The transport of a message.
enum class Carrier : std::uint8_t { OpenMpi, OpenMpiSums, Grpc };

/// Identifies a message of the program, or a collective's message to a member.
struct Delivery {
  std::int32_t index = 0;
  std::int64_t detail = 0;
};

/// The number of messages that one message represents at each link of its route: itself and those
/// of alike places that are not built.
struct LinkShares {
  int out = 1;
  int across = 1;
  int in = 1;
  bool into_own_host = false;  ///< into the sender's host, not the receiver's
  auto operator<=>(const LinkShares&) const = default;
};

struct Posted {
  Carrier carrier = Carrier::OpenMpi;
  std::int64_t bytes = 0;
  std::int64_t of_bytes = 0;  ///< size of the whole message, of which this is a part; 0: no part
  bool goes_on = false;       ///< a later part: the first part has paid the message's fixed cost
  int handshakes = 0;         ///< round trips before the first byte leaves
  LinkShares shares = {};
};

class Channels {
 public:
  /// `host_of[p]` is the host of process p. All arguments must outlive this object.
  Channels(const Cluster& cluster, const std::vector<int>& host_of, EventQueue& events,
           Network& network);

  /// Makes messages take cores. `cores_of[p]` is the network link that stands for the cores of
  /// process p; -1 if the process has enough cores. `core` is the capacity that stands for one core
  /// in these links. Call before the first message.
  void take_cores(const std::vector<int>& cores_of, double core);

  /// Queues a message; when it has arrived, an event MessageArrives with `delivery` follows.
  void post(double now, int from, int to, const Posted& message, const Delivery& delivery);
  void begin_flow(const Event& event);
  /// Ends the flow that the event belongs to and returns the delivery of its message.
  Delivery end_flow(const Event& event);

 private:
  struct Waiting {
    Posted message;
    Delivery delivery;
  };
  struct Channel {
    Way way;
    Route route;
    std::array<int, 2> cores{-1, -1};  ///< links of the sender's and the receiver's cores
    double core_share = 1;  ///< share of a core that a message takes at the measured rate
    double latency_ns = 0;
    bool has_waited = false;      ///< at full links, since the channel was last empty
    std::deque<Waiting> waiting;  ///< the front is in flight
  };

  const MessageCosts& costs_of(Carrier carrier) const;
  double wait_ns(double now, const Channel& channel) const;
  int channel_of(int from, int to, const Posted& message);
  void start(double now, int channel);

  const Cluster& cluster_;
  const std::vector<int>& host_of_;
  EventQueue& events_;
  Network& network_;
  std::vector<int> out_;  ///< [host]: its outgoing link; -1: unlimited
  std::vector<int> in_;   ///< [host]: its incoming link
  int core_ = -1;
  std::vector<int> cores_of_;
  double core_capacity_ = 1;
  std::map<std::tuple<int, int, Carrier, LinkShares>, int> numbers_;
  std::vector<Channel> channels_;
  std::vector<int> channel_of_flow_;
};

}  // namespace regatta::virtual_time
