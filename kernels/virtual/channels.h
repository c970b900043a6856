// SPDX-License-Identifier: Apache-2.0
//
// Messages between processes in virtual time. A channel carries those from one process to another
// one behind the other, as a connection does: each occupies it for its own cost and for its bytes,
// which are a flow through the links between their hosts; behind that it takes the latency, while
// the next is on its way. One that begins at a link that others fill waits first for what these
// keep in front of it (Cluster::queue_bytes). Where hosts share a machine's cores, the bytes of a
// message take one at each end, those of Open MPI half of one, if they travel as fast as they were
// measured, and less if slower. What computes there gets as much of a core as a long message of
// Open MPI would. The cost of a message itself takes none.
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

/// What carries a message.
enum class Carrier : std::uint8_t { OpenMpi, OpenMpiSums, Grpc };

/// Of a message of the program, or of a collective's member.
struct Delivery {
  std::int32_t index = 0;
  std::int64_t detail = 0;
};

struct Posted {
  Carrier carrier = Carrier::OpenMpi;
  std::int64_t bytes = 0;
  std::int64_t of_bytes = 0;  ///< of a part of a message: the whole one's; 0: it is whole
  bool goes_on = false;       ///< a part behind the first, which has paid the message's own cost
  int handshakes = 0;         ///< ways there and back before its first byte leaves
};

class Channels {
 public:
  /// `host_of`: by process. All outlive this.
  Channels(const Cluster& cluster, const std::vector<int>& host_of, EventQueue& events,
           Network& network);

  /// By process: the link in the network that is its cores; -1: it has some for its messages.
  /// `core`: the capacity that one of them is. Before the first message.
  void take_cores(const std::vector<int>& cores_of, double core);

  /// MessageArrives follows, with the delivery.
  void post(double now, int from, int to, const Posted& message, const Delivery& delivery);
  void begin_flow(const Event& event);
  /// Of an event that ends a flow: what has left.
  Delivery end_flow(const Event& event);

 private:
  struct Waiting {
    Posted message;
    Delivery delivery;
  };
  struct Channel {
    Way way;
    Route route;
    std::array<int, 2> cores{-1, -1};  ///< links: the sender's, the receiver's
    double core_share = 1;             ///< while it is as fast as it can be
    double latency_ns = 0;
    bool has_waited = false;      ///< in front of full links, since it was empty
    std::deque<Waiting> waiting;  ///< the first is on its way
  };

  const MessageCosts& costs_of(Carrier carrier) const;
  double wait_ns(double now, const Channel& channel) const;
  int channel_of(int from, int to, Carrier carrier);
  void start(double now, int channel);

  const Cluster& cluster_;
  const std::vector<int>& host_of_;
  EventQueue& events_;
  Network& network_;
  std::vector<int> out_;  ///< by host: the link; -1: without a limit
  std::vector<int> in_;
  int core_ = -1;
  std::vector<int> cores_of_;
  double core_capacity_ = 1;
  std::map<std::pair<std::pair<int, int>, Carrier>, int> numbers_;
  std::vector<Channel> channels_;
  std::vector<int> channel_of_flow_;
};

}  // namespace regatta::virtual_time
