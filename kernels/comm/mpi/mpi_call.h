// SPDX-License-Identifier: Apache-2.0
//
// MPI's header and the check of its return codes. Only sources of this folder include it.
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C interface alone
#include <mpi.h>

#include <source_location>
#include <string_view>

namespace regatta::comm {

/// Checks the return code of an MPI call. The communicator must have the error handler
/// MPI_ERRORS_RETURN.
/// Throws: RunError(PeerLost) with the call's name, MPI's message and the caller's line.
void mpi_call(int code, std::string_view call,
              std::source_location where = std::source_location::current());

}  // namespace regatta::comm
