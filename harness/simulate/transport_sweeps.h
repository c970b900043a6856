// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over sizes: the time of one exchange by its bytes, between threads, by gRPC, and by Open
// MPI in a rank.
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

namespace regatta {

/// The time of one exchange of `bytes` bytes.
struct SweepPoint {
  std::int64_t bytes = 0;
  double ns = 0;
};
using Sweep = std::vector<SweepPoint>;  ///< in the order of bytes

inline constexpr std::array<std::int64_t, 7> kSweepBytes = {64,        4 << 10, 16 << 10, 64 << 10,
                                                            256 << 10, 1 << 20, 4 << 20};
inline constexpr int kSweepSpins = 400;  ///< of a wait between lanes that have a core each

/// Measures rings between two threads, or one half of a ring.
Sweep sweep_in_process(Op op);

/// The one-way times of a message, and the times for which a send occupies its lane.
struct GrpcSweeps {
  Sweep one_way;
  Sweep sending;
};

/// Measures between two exchanges on loopback.
GrpcSweeps sweep_grpc();

/// The arrival of rank 0 at an all-reduce: with the others, or 1 ms later. In a step one rank is
/// late, and by then the others poll rarely, on lanes that do not spin (backoff.h).
enum class RankZero : std::uint8_t { InTime, Late };

/// Measures all-reduces of an algorithm between all ranks, by this rank's clock.
Sweep sweep_ranks(MpiSession& session, const std::string& algorithm, RankZero rank_0_comes);

/// Measures between two ranks. Rank 0 serves at `listen`, an address without port, and answers; its
/// result is empty. Rank 1 measures, and its sweeps are returned.
GrpcSweeps sweep_grpc_between(MpiSession& session, const std::string& listen);

}  // namespace regatta
