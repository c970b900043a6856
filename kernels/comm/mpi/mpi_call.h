// SPDX-License-Identifier: Apache-2.0
//
// The MPI library of this process and the check of its return codes. Only sources of this folder
// include it.
#pragma once

#include <source_location>
#include <string_view>

#include "kernels/comm/mpi/mpi_table.h"

namespace regatta::comm {

/// The functions of the MPI library that mpi_library() has found. Throws: RunError(Unsupported) if
/// there is none.
MpiTable& mpi();

/// Checks the return code of an MPI call. The communicator must return errors
/// (MpiTable::return_errors()).
/// Throws: RunError(PeerLost) with the call's name, MPI's message and the caller's line.
void mpi_call(int code, std::string_view call,
              std::source_location where = std::source_location::current());

}  // namespace regatta::comm
