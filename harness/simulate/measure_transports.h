// SPDX-License-Identifier: Apache-2.0
//
// What messages cost on this machine: between threads, between processes by Open MPI, over memory
// and over TCP on loopback, and to a server by gRPC. A transport's sweep gives the time of an
// exchange by its bytes; its cost of a message is that of the smallest, its rate that between the
// two largest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kernels/virtual/cluster.h"

namespace regatta {

/// The time of one exchange of so many bytes.
struct SweepPoint {
  std::int64_t bytes = 0;
  double ns = 0;
};

/// The way that rings of two members with these times take: 2 message_ns + bytes / bytes_per_ns,
/// and bytes / 2 that are added up at `adding_bytes_per_ns`.
virtual_time::Way way_of_rings(const std::vector<SweepPoint>& sweep, double adding_bytes_per_ns);

struct TransportMeasuring {
  std::filesystem::path logs;  ///< of ranks
  std::function<void(const std::string&)> tell;
};

/// Throws: RunError(Unsupported) where mpirun is missing.
virtual_time::Transports measure_transports(const TransportMeasuring& options);

/// In a rank that measure_transports() has started.
bool measures_as_rank();
/// Prints the rank's sweep. Returns the exit code.
int measure_open_mpi_as_rank();

}  // namespace regatta
