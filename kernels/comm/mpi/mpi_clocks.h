// SPDX-License-Identifier: Apache-2.0
//
// Compares the clock of each rank with that of rank 0, one rank after the other. A rank makes 32
// round trips; it stops earlier when 100 ms have passed, but makes at least 5. Before and after its
// turn it sleeps between looks: where there are many more ranks than cores, ranks that wait busily
// would make each trip of another one as long as they are many.
#pragma once

#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/process_clock.h"

namespace regatta {

/// Compares `clock`, this rank's own, with rank 0's; at rank 0 offset and error are 0. Called by
/// all ranks together, while no lane runs. Throws: RunError(PeerLost).
ClockComparison compare_with_rank_0(MPI_Comm all, const ProcessClock& clock);

}  // namespace regatta
