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
#include <string>

#include "harness/simulate/transport_sweeps.h"
#include "kernels/virtual/cluster.h"

namespace regatta {

/// The way that rings of two members with these times take: two messages of half the bytes, of
/// which one is added up at `adding_bytes_per_ns`.
virtual_time::Way way_of_rings(const Sweep& sweep, double adding_bytes_per_ns);

struct TransportMeasuring {
  std::filesystem::path logs;  ///< of ranks
  std::string hosts;           ///< an Open MPI hostfile; empty: this machine
  std::string listen;          ///< address of this machine that the second host reaches
  std::function<void(const std::string&)> tell;
};

/// Throws: RunError(Unsupported) where mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// In a rank that measure_transports() has started.
bool measures_as_rank();
/// Prints the rank's sweeps. Returns the exit code.
int measure_as_rank();

}  // namespace regatta
