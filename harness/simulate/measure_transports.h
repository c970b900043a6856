// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of messages on this machine: between threads; between processes by Open MPI,
// for this program's schedules and for MPI_Allreduce, over shared memory and over TCP; and to a
// server by gRPC, at a Unix socket and over TCP. TCP is measured on loopback or, if hosts are
// given, between the first two of them. A sweep measures the time of an exchange at several sizes.
// The time of the smallest size is the fixed cost of a message, including the latency of the link
// between hosts. Beyond the largest size, the rate between the two largest sizes applies.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "kernels/virtual/cluster.h"

namespace regatta::simulate {

struct TransportMeasuring {
  std::filesystem::path logs;  ///< folder for the ranks' logs
  std::string hosts;           ///< an Open MPI hostfile; empty: this machine
  std::string listen;          ///< address at which the second host reaches this machine
  std::function<void(const std::string&)> tell;
};

/// Measures all transports. Throws: RunError(Unsupported) if mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// True in a rank that measure_transports() has started.
bool measures_as_rank();
/// Measures as a rank and prints the result. Returns the exit code.
int measure_as_rank();

}  // namespace regatta::simulate
