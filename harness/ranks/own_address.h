// SPDX-License-Identifier: Apache-2.0
//
// The address at which a rank's libraries listen. Open MPI's TCP listens on all interfaces and has
// no option against that, so this program's own bind(2) replaces libc's. Called by: ranks, before
// MPI_Init. Threads: one, before others bind.
#pragma once

#include <string>

namespace regatta {

inline constexpr char kLoopback[] = "127.0.0.1";

/// From now on, sockets that this process binds to all interfaces, of IPv6 too, are bound to
/// `address`, which is one of its own. Shapes: `10.0.0.1`. Throws: RunError(Usage).
void listen_only_at(const std::string& address);

}  // namespace regatta
