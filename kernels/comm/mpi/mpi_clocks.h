// SPDX-License-Identifier: Apache-2.0
//
// The clocks of MPI's ranks against that of rank 0, each by some round trips to it, one rank after
// the other: 32, or as many as a tenth of a second has room for, but 5 at least.
#pragma once

#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/process_clock.h"

namespace regatta {

/// Of this rank, whose own clock is `clock`; rank 0's offset and error are 0. Together with all
/// ranks, while lanes rest. Throws: RunError(PeerLost).
ClockComparison compare_with_rank_0(MPI_Comm all, const ProcessClock& clock);

}  // namespace regatta
