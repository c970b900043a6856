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
#include "strategies/option.h"

namespace regatta {

/// `parts`: by process. Sums of one member are none. A sum over all replicas by a torus has a row
/// of each host, where these give it rows (`replicas`). Throws: RunError(Unsupported) where mpirun
/// is missing.
std::vector<MeasuredSum> measure_sums(const std::vector<Step>& parts,
                                      const StrategyOptions& replicas,
                                      const TransportMeasuring& options);

/// In a rank: prints the times of sums if it was started for these. Returns whether it was.
bool sums_as_rank(MpiSession& session);

}  // namespace regatta
