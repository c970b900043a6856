// SPDX-License-Identifier: Apache-2.0
//
// Sets the address at which a rank's libraries listen. Open MPI's TCP always listens on all
// interfaces, so this program's bind(2) replaces libc's. Called by: ranks, before MPI_Init.
// Threads: called from one thread, before other threads bind sockets.
#pragma once

#include <string>

namespace regatta {

inline constexpr char kLoopback[] = "127.0.0.1";

/// Makes later bind(2) calls for all interfaces (0.0.0.0 or ::) bind to `address` instead, an IPv4
/// address of this machine such as `10.0.0.1`. Throws: RunError(Usage).
void listen_only_at(const std::string& address);

}  // namespace regatta
