// SPDX-License-Identifier: Apache-2.0
//
// What a rank knows of its run by the environment that it was started in.
#pragma once

#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

/// An environment variable of this process, or `otherwise`.
std::string variable_or(const char* name, const std::string& otherwise);

/// The run that this process was started for.
RunIdentity identity_of_this_run();

/// Throws: RunError(Usage) where mpirun has not started this process.
int number_of_this_rank();

}  // namespace regatta
