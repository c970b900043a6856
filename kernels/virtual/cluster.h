// SPDX-License-Identifier: Apache-2.0
//
// A cluster that need not exist: hosts, the links between them, what messages cost, and how
// computing differs from step to step. Units: nanoseconds, bytes, bytes a nanosecond (GB/s).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/virtual/compute_times.h"
#include "kernels/virtual/network.h"

namespace regatta::virtual_time {

/// What one message of so many bytes takes.
struct MessageTime {
  double bytes = 0;
  double ns = 0;
  bool operator==(const MessageTime&) const = default;
};

/// A way that messages take, apart from the links on it.
struct Way {
  double message_ns = 0;           ///< of each message: it occupies the channel for so long
  double bytes_per_ns = kNoLimit;  ///< of one message at a time, where no link is narrower
  /// As measured, if it was: times between these are interpolated, beyond the last `bytes_per_ns`
  /// counts. Bytes rise, times never fall, and none is below message_ns.
  std::vector<MessageTime> points = {};
  bool operator==(const Way&) const = default;

  /// Of a message that has the way to itself.
  double ns_of(double bytes) const;
  /// Of its bytes, behind message_ns.
  double rate_of(double bytes) const;
};

/// Costs of messages by who carries them.
struct MessageCosts {
  Way on_host;
  Way between_hosts;
  double adding_bytes_per_ns = kNoLimit;   ///< a receiver that adds to what it has
  double sending_bytes_per_ns = kNoLimit;  ///< a lane that hands a message over; servers only
  bool operator==(const MessageCosts&) const = default;
};

struct Transports {
  MessageCosts in_process;  ///< between the lanes of a process
  MessageCosts open_mpi;
  MessageCosts open_mpi_sums;  ///< messages of an all-reduce that is Open MPI's own
  MessageCosts grpc;           ///< to and from servers
  bool operator==(const Transports&) const = default;
};

struct VirtualHost {
  std::string name;
  int cores = 1;
  double out_bytes_per_ns = kNoLimit;  ///< of its link, all that leaves
  double in_bytes_per_ns = kNoLimit;
};

struct Cluster {
  std::vector<VirtualHost> hosts;
  double latency_ns = 0;                ///< between two hosts, one way
  double core_bytes_per_ns = kNoLimit;  ///< of the link that all hosts' traffic shares
  double queue_bytes = 0;  ///< that a flow keeps waiting in front of the link that limits it
  int threads_per_worker = 1;
  int server_cores = 1;   ///< of a server's process
  int machine_cores = 0;  ///< dealt to hosts in turn, one each; 0: they have their own
  ComputeTimes compute_times;
  Transports transports;
  std::uint64_t seed = 1;
};

}  // namespace regatta::virtual_time
