// SPDX-License-Identifier: Apache-2.0
//
// Compares each rank's clock with that of rank 0, one rank after the other. A rank makes up to 32
// round trips: after 100 ms it stops as soon as it has made 5. Ranks that wait for their turn, or
// for the others after it, sleep between polls: with many more ranks than cores, busy waits would
// slow each round trip in proportion to their number.
#pragma once

#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/process_clock.h"

namespace regatta::comm {

/// Compares `clock`, which is this rank's, with rank 0's clock; at rank 0, offset and error are 0.
/// Called by all ranks together, while no lane runs. Throws: RunError(PeerLost).
ClockComparison compare_with_rank_0(MpiComm all, const ProcessClock& clock);

}  // namespace regatta::comm
