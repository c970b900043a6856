// SPDX-License-Identifier: Apache-2.0
//
// Measures the sums (all_reduce) of a cell by each algorithm: on the cell's transports, with as
// many members and processes as in the cell, for 64 bytes to 4 MiB, one sum after the other.
// Members do no other work; when they wait they spin or sleep like a run's lanes.
#pragma once

#include <vector>

#include "harness/simulate/calibration.h"
#include "harness/simulate/measure_transports.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/graph/graph.h"
#include "strategies/option.h"

namespace regatta {

/// Measures the sums in the steps of a run: `parts[p]` is the step of process p. Sums with one
/// member are skipped. If `replicas` sets the rows of a torus, a torus over all replicas has these
/// rows. Throws: RunError(Unsupported) if mpirun is missing.
std::vector<MeasuredSum> measure_sums(const std::vector<Step>& parts,
                                      const StrategyOptions& replicas,
                                      const TransportMeasuring& options);

/// Measures as a rank that measure_sums() has started, and prints the times; returns false in any
/// other rank.
bool sums_as_rank(MpiSession& session);

}  // namespace regatta
