// SPDX-License-Identifier: Apache-2.0
//
// Messages between processes in virtual time. A channel carries the messages between two processes
// in one direction, one at a time, as a connection does. Each message occupies the channel for its
// own cost and then for its bytes, a flow through the links between the hosts; the latency follows,
// while the next message is in flight. A message that begins at a link filled by others first waits
// for the bytes that these keep queued there (Cluster::queue_bytes). If hosts share a machine's
// cores, the bytes of a message at the measured rate take one core at each end (half a core with
// Open MPI), less at a lower rate; its own cost takes none. A computing thread and a long Open MPI
// message on one core are slowed by the same factor.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
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

struct Posted {
  Carrier carrier = Carrier::OpenMpi;
  std::int64_t bytes = 0;
  std::int64_t of_bytes = 0;  ///< size of the whole message if this is a part of it; 0: it is whole
  bool goes_on = false;       ///< a later part: the first has paid the message's own cost
  int handshakes = 0;         ///< round trips before the first byte leaves
};

class Channels {
 public:
  /// `host_of`: by process. All arguments outlive this.
  Channels(const Cluster& cluster, const std::vector<int>& host_of, EventQueue& events,
           Network& network);

  /// Makes messages take cores. `cores_of`: by process, the network's link that stands for its
  /// cores; -1: it has enough. `core`: the capacity of one core. Call before the first message.
  void take_cores(const std::vector<int>& cores_of, double core);

  /// Queues a message; the event MessageArrives, with `delivery`, follows.
  void post(double now, int from, int to, const Posted& message, const Delivery& delivery);
  void begin_flow(const Event& event);
  /// Ends the event's flow and returns the delivery of its message.
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
    double core_share = 1;             ///< of a core, for a message at the measured rate
    double latency_ns = 0;
    bool has_waited = false;      ///< at full links, since the channel was last empty
    std::deque<Waiting> waiting;  ///< the front is in flight
  };

  const MessageCosts& costs_of(Carrier carrier) const;
  double wait_ns(double now, const Channel& channel) const;
  int channel_of(int from, int to, Carrier carrier);
  void start(double now, int channel);

  const Cluster& cluster_;
  const std::vector<int>& host_of_;
  EventQueue& events_;
  Network& network_;
  std::vector<int> out_;  ///< by host: the link; -1: unlimited
  std::vector<int> in_;
  int core_ = -1;
  std::vector<int> cores_of_;
  double core_capacity_ = 1;
  std::map<std::pair<std::pair<int, int>, Carrier>, int> numbers_;
  std::vector<Channel> channels_;
  std::vector<int> channel_of_flow_;
};

}  // namespace regatta::virtual_time
