// SPDX-License-Identifier: Apache-2.0
//
// Measures the sums of a cell by each algorithm: all_reduces by the cell's transports, with its
// members and processes, from 64 bytes to 4 MiB, one after the other. Members do nothing else;
// their waits spin or sleep as those of a run's lanes do.
#pragma once

#include <vector>

#include "harness/simulate/calibration.h"
#include "harness/simulate/measure_transports.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/graph/graph.h"
#include "strategies/option.h"

namespace regatta {

/// `parts`: by process. Sums of one member are skipped. If `replicas` gives each host a row of a
/// torus, a torus over all replicas has such rows. Throws: RunError(Unsupported) if mpirun is
/// missing.
std::vector<MeasuredSum> measure_sums(const std::vector<Step>& parts,
                                      const StrategyOptions& replicas,
                                      const TransportMeasuring& options);

/// Prints the times of sums in a rank that was started for that; returns false in any other.
bool sums_as_rank(MpiSession& session);

}  // namespace regatta
