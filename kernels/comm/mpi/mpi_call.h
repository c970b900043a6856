// SPDX-License-Identifier: Apache-2.0
//
// MPI's header and the one way to look at what its calls return. Only sources of this folder
// include it.
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C interface alone
#include <mpi.h>

#include <source_location>
#include <string_view>

namespace regatta {

/// Throws: RunError(PeerLost) with the call's name, MPI's words and the caller's line where `code`
/// is not success. Needs MPI_ERRORS_RETURN on the communicator.
void mpi_call(int code, std::string_view call,
              std::source_location where = std::source_location::current());

}  // namespace regatta
