// SPDX-License-Identifier: Apache-2.0
//
// A library that mpirun loads before libc (LD_PRELOAD). mpirun opens ports to all interfaces
// (version 4) or to one of them (version 5), and has no option against that (Open MPI's issue
// 14441); with this library every IP address that a process binds is on loopback. No other part of
// the project calls it.
// Threads: any.
#include "harness/ranks/bind_elsewhere.h"

extern "C" int bind(int socket, const sockaddr* address, socklen_t bytes) {
  return regatta::bind_elsewhere(socket, address, bytes,
                                 {.v4 = {.s_addr = htonl(INADDR_LOOPBACK)}, .v6 = in6addr_loopback},
                                 regatta::Replaced::Every);
}
