// SPDX-License-Identifier: Apache-2.0
//
// What the sums of a cell take by each algorithm: all_reduces by the cell's transports, of as many
// members in as many processes, from 64 bytes to 4 MiB, one sum behind the other. Members have
// nothing else to do; their waits spin or sleep as those of a run's lanes do.
#pragma once

#include <vector>

#include "harness/simulate/calibration.h"
#include "harness/simulate/measure_transports.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// `parts`: by process. Sums of one member are none. `replicas_on_host`: the columns of a torus
/// whose rows are hosts, of sums over all replicas; 0: hosts give it none.
/// Throws: RunError(Unsupported) where mpirun is missing.
std::vector<MeasuredSum> measure_sums(const std::vector<Step>& parts, std::int64_t replicas_on_host,
                                      const TransportMeasuring& options);

/// In a rank: prints the times of sums if it was started for these. Returns whether it was.
bool sums_as_rank(MpiSession& session);

}  // namespace regatta
