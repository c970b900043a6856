// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over sizes: measures the time of one exchange as a function of its bytes, between threads,
// by gRPC, and in a rank by Open MPI.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta::simulate {

/// The time of one exchange of `bytes` bytes.
struct SweepPoint {
  std::int64_t bytes = 0;
  double ns = 0;
};
using Sweep = std::vector<SweepPoint>;  ///< ordered by bytes, ascending

inline constexpr std::array<std::int64_t, 7> kSweepBytes = {64,        4 << 10, 16 << 10, 64 << 10,
                                                            256 << 10, 1 << 20, 4 << 20};
inline constexpr int kSweepSpins = 400;  ///< polls before a lane with its own core sleeps

/// Measures a ring all-reduce between two threads (`op` is AllReduce), or one half of it
/// (ReduceScatter or AllGather).
Sweep sweep_in_process(Op op);

/// The one-way times of a gRPC message, and the times for which sending it occupies the sender's
/// lane.
struct GrpcSweeps {
  Sweep one_way;
  Sweep sending;
};

/// Measures messages between two exchanges in this process. One of them listens at `listen`, an
/// address without port or `unix:FOLDER`.
GrpcSweeps sweep_grpc(const std::string& listen);

/// How ranks exchange. InTime: all begin together. Late: rank 0 begins 1 ms later, which mimics a
/// real step, in which one rank comes last; by then the others poll rarely, unless their lanes spin
/// (backoff.h). BesideComputing: another thread computes on the core of each rank; the measured
/// time is the time of the core that an exchange takes from this thread, not its duration.
enum class Ranks : std::uint8_t { InTime, Late, BesideComputing };

/// Measures all-reduces between all ranks by `algorithm`, with this rank's clock.
Sweep sweep_ranks(comm::MpiSession& session, const std::string& algorithm, Ranks ranks);

/// Measures between two ranks, which both call this function. Rank 0 serves at `listen`, an address
/// without port, and answers; it returns empty sweeps. Rank 1 measures and returns the sweeps.
/// `ranks` is InTime or BesideComputing; in the latter case, `sending` stays empty.
GrpcSweeps sweep_grpc_between(comm::MpiSession& session, const std::string& listen, Ranks ranks);

/// Whether this process may use only one core, so that BesideComputing can be measured.
bool has_one_core();

}  // namespace regatta::simulate
