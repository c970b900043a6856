// SPDX-License-Identifier: Apache-2.0
//
// What messages cost on this machine: between threads, between processes by Open MPI, those of our
// own schedules and those of its own sums, over memory and over TCP, and to a server by gRPC; over
// TCP on loopback or, where hosts are given, between the first two of them. A transport's sweep
// gives the time of an exchange by its bytes; its cost of a message is that of the smallest, with
// the latency of the hosts' link, its rate beyond the largest that between the two largest.
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

/// The way that rings of two members with these times take: two messages of half the bytes, of
/// which one is added up at `adding_bytes_per_ns`.
virtual_time::Way way_of_rings(const Sweep& sweep, double adding_bytes_per_ns);

/// Of sizes with their times; noise does not make a longer one faster.
virtual_time::Way way_of_messages(const Sweep& sweep);

struct TransportMeasuring {
  std::filesystem::path logs;  ///< of ranks
  std::string hosts;           ///< an Open MPI hostfile; empty: this machine
  std::string listen;          ///< address of this machine that the second host reaches
  std::function<void(const std::string&)> tell;
};

/// Throws: RunError(Unsupported) where mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// Starts ranks of this program, which measure_as_rank(), and returns when they have ended.
std::unique_ptr<Launcher> run_measuring_ranks(LaunchOptions launch);
/// Of ranks on the hosts of the options.
LaunchOptions launch_between_hosts(const TransportMeasuring& options);
/// For ranks that have ended without printing what they were started for.
RunError not_measured(const std::string& what, const Launcher& ended, const LaunchOptions& launch);

/// In a rank that run_measuring_ranks() has started.
bool measures_as_rank();
/// Prints what the rank has measured. Returns the exit code.
int measure_as_rank();

}  // namespace regatta
