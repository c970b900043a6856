// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of messages on this machine: between threads; between processes by Open MPI,
// for our own schedules and for its own sums, over memory and over TCP; and to a server by gRPC.
// TCP is on loopback or, if hosts are given, between the first two of them. A transport's sweep
// gives the time of an exchange by its bytes. The cost of a message is that of the smallest, which
// includes the latency of the hosts' link; beyond the largest size the rate is that between the two
// largest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "harness/ranks/launcher.h"
#include "harness/simulate/transport_sweeps.h"
#include "kernels/graph/error.h"
#include "kernels/virtual/cluster.h"

namespace regatta {

/// The way of rings of two members with these times: two messages of half the bytes, of which one
/// is added up at `adding_bytes_per_ns`.
virtual_time::Way way_of_rings(const Sweep& sweep, double adding_bytes_per_ns);

/// The way of messages with these sizes and times; noise never makes a longer message faster.
virtual_time::Way way_of_messages(const Sweep& sweep);

struct TransportMeasuring {
  std::filesystem::path logs;  ///< folder for the ranks' logs
  std::string hosts;           ///< an Open MPI hostfile; empty: this machine
  std::string listen;          ///< this machine's address for the second host
  std::function<void(const std::string&)> tell;
};

/// Measures all transports. Throws: RunError(Unsupported) if mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// Starts ranks of this program that run measure_as_rank(), and returns when they have ended.
std::unique_ptr<Launcher> run_measuring_ranks(LaunchOptions launch);
/// Options for ranks on the given hosts.
LaunchOptions launch_between_hosts(const TransportMeasuring& options);
/// The error for ranks that have ended without printing their measurements.
RunError not_measured(const std::string& what, const Launcher& ended, const LaunchOptions& launch);

/// True in a rank that run_measuring_ranks() has started.
bool measures_as_rank();
/// Measures as a rank and prints the result. Returns the exit code.
int measure_as_rank();

}  // namespace regatta
