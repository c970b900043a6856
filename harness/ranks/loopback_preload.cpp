// SPDX-License-Identifier: Apache-2.0
//
// A library that mpirun loads before libc (LD_PRELOAD). mpirun opens ports to all interfaces
// (version 4) or to one of them (version 5), and has no option against that (Open MPI's issue
// 14441); with this library, what a process binds to an address of IP is on loopback. It depends on
// nothing, and no other part of the project calls it. Threads: any.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

extern "C" int bind(int socket, const sockaddr* address, socklen_t bytes) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (address != nullptr && address->sa_family == AF_INET && bytes == sizeof v4) {
    std::memcpy(&v4, address, sizeof v4);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address = reinterpret_cast<const sockaddr*>(&v4);
  } else if (address != nullptr && address->sa_family == AF_INET6 && bytes == sizeof v6) {
    std::memcpy(&v6, address, sizeof v6);
    v6.sin6_addr = in6addr_loopback;
    address = reinterpret_cast<const sockaddr*>(&v6);
  }
  return static_cast<int>(syscall(SYS_bind, socket, address, bytes));
}
