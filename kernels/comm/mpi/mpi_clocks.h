// SPDX-License-Identifier: Apache-2.0
//
// Compares each rank's clock with that of rank 0, one rank after the other. A rank makes 32 round
// trips; after 100 ms it stops earlier, but makes at least 5. Before and after its turn it sleeps
// between polls: with many more ranks than cores, ranks that wait busily would slow each round trip
// in proportion to their number.
#pragma once

#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/process_clock.h"

namespace regatta {

/// Compares `clock`, this rank's own, with rank 0's; at rank 0 offset and error are 0. Called by
/// all ranks together, while no lane runs. Throws: RunError(PeerLost).
ClockComparison compare_with_rank_0(MPI_Comm all, const ProcessClock& clock);

}  // namespace regatta
