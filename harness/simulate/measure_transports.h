// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of messages on this machine: between threads; between processes by Open MPI,
// for this program's schedules and for MPI_Allreduce, over shared memory and over TCP; and to a
// server by gRPC, at a Unix socket and over TCP. TCP is measured on loopback or, if hosts are
// given, between the first two of them. A sweep measures the time of an exchange at several sizes.
// The fixed cost of a message is the time of the smallest size, including the latency of the link
// between hosts; beyond the largest size, the rate is that between the two largest sizes.
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

/// Converts measured times of a ring all-reduce between two members into the cost of a message.
/// Such a ring sends two messages of half the bytes in turn, and adds one up at
/// `adding_bytes_per_ns`.
virtual_time::Way way_of_rings(const Sweep& sweep, double adding_bytes_per_ns);

/// The cost of a message with these measured sizes and times, smoothed so that a longer message is
/// never faster than a shorter one.
virtual_time::Way way_of_messages(const Sweep& sweep);

struct TransportMeasuring {
  std::filesystem::path logs;  ///< folder for the ranks' logs
  std::string hosts;           ///< an Open MPI hostfile; empty: this machine
  std::string listen;          ///< address at which the second host reaches this machine
  std::function<void(const std::string&)> tell;
};

/// Measures all transports. Throws: RunError(Unsupported) if mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// Starts ranks of this program that run measure_as_rank(), and waits until they have ended.
std::unique_ptr<Launcher> run_measuring_ranks(LaunchOptions launch);
/// Options that start ranks on `options.hosts`.
LaunchOptions launch_between_hosts(const TransportMeasuring& options);
/// The error if the ranks of `ended` have not printed their measurement of `what`.
RunError not_measured(const std::string& what, const Launcher& ended, const LaunchOptions& launch);

/// True in a rank that run_measuring_ranks() has started.
bool measures_as_rank();
/// Measures as a rank and prints the result. Returns the exit code.
int measure_as_rank();

}  // namespace regatta
