// SPDX-License-Identifier: Apache-2.0
//
// Facts about a rank from its environment variables.
#pragma once

#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::ranks {

/// The value of this process's environment variable `name`; `otherwise` if it is not set.
std::string variable_or(const char* name, const std::string& otherwise);

/// The id and token of the run for which this process was started.
comm::RunIdentity identity_of_this_run();

/// The rank of this process. Throws: RunError(Usage) if mpirun has not started this process.
int number_of_this_rank();

}  // namespace regatta::ranks
