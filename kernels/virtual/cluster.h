// SPDX-License-Identifier: Apache-2.0
//
// Describes a cluster that need not exist: its hosts, the links between them, the costs of
// messages, and the variation of compute times between steps. Units: nanoseconds, bytes, bytes per
// nanosecond (GB/s).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/virtual/compute_times.h"
#include "kernels/virtual/devices.h"
#include "kernels/virtual/network.h"

namespace regatta::virtual_time {

/// The measured time of one message of `bytes` bytes.
struct MessageTime {
  double bytes = 0;
  double ns = 0;
  bool operator==(const MessageTime&) const = default;
};

/// Costs of messages within a host or between hosts, apart from those of links.
struct Way {
  double message_ns = 0;           ///< cost of each message, which occupies the channel
  double bytes_per_ns = kNoLimit;  ///< rate of a single message, if no link is narrower
  /// Measured times, if any: interpolated between points; beyond the last, `bytes_per_ns` applies.
  /// Bytes increase, times never decrease, and no time is below message_ns.
  std::vector<MessageTime> points = {};
  /// Measured times that a message takes, at each end, from a thread that computes on the same
  /// core. Empty: not measured.
  std::vector<MessageTime> core_points = {};
  bool operator==(const Way&) const = default;

  /// Returns the time of a message of `bytes` bytes while no other message uses the way.
  double ns_of(double bytes) const;
  /// Returns the rate at which the message's bytes travel after message_ns.
  double rate_of(double bytes) const;
  /// Returns the core time of a message of `bytes` bytes at each end; `core_points` is not empty.
  double core_ns_of(double bytes) const;
};

struct MessageCosts {
  Way on_host;
  Way between_hosts;
  double adding_bytes_per_ns = kNoLimit;  ///< rate at which a receiver adds a message to its memory
  double sending_bytes_per_ns = kNoLimit;  ///< rate at which a lane hands a message over; gRPC only
  bool operator==(const MessageCosts&) const = default;
};

struct Transports {
  MessageCosts in_process;  ///< between lanes of one process
  MessageCosts open_mpi;
  MessageCosts open_mpi_sums;  ///< messages of Open MPI's own all-reduce
  MessageCosts grpc;           ///< to and from servers
  bool operator==(const Transports&) const = default;
};

struct VirtualHost {
  std::string name;
  int cores = 1;
  double out_bytes_per_ns = kNoLimit;  ///< capacity of the link for all that leaves the host
  double in_bytes_per_ns = kNoLimit;   ///< capacity of the link for all that enters the host
};

struct Cluster {
  std::vector<VirtualHost> hosts;
  double latency_ns = 0;                ///< one way between two hosts
  double core_bytes_per_ns = kNoLimit;  ///< capacity of one link for all traffic between hosts
  double queue_bytes = 0;  ///< bytes that each flow keeps queued at the link that limits it
  int threads_per_worker = 1;
  int server_cores = 1;   ///< per server process
  int machine_cores = 0;  ///< host h has core h % machine_cores; 0: hosts have their own cores
  ComputeTimes compute_times;
  Transports transports;
  std::uint64_t seed = 1;
  std::optional<Devices> devices;  ///< compute in place of the hosts' cores
};

}  // namespace regatta::virtual_time
