// SPDX-License-Identifier: Apache-2.0
//
// The facts that a rank gets from its environment.
#pragma once

#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

/// An environment variable of this process, or `otherwise`.
std::string variable_or(const char* name, const std::string& otherwise);

/// The run that this process was started for.
RunIdentity identity_of_this_run();

/// The number of this rank. Throws: RunError(Usage) if mpirun has not started this process.
int number_of_this_rank();

}  // namespace regatta
