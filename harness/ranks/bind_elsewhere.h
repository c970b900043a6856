// SPDX-License-Identifier: Apache-2.0
//
// A replacement of bind(2) for libraries that offer no choice of the address at which they listen.
// This header depends only on libc, because the library that mpirun loads (loopback_preload.cpp)
// includes it. Called by: this project's definitions of bind. Threads: any.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace regatta {

/// The requested addresses that are replaced: every one, or only those for all interfaces.
enum class Replaced : std::uint8_t { Every, AllInterfaces };

struct OwnAddresses {
  in_addr v4;
  in6_addr v6;
};

/// Binds a socket like bind(2), but with the address in `own` of the same IP version if `replaced`
/// applies to the requested `address`. The port, and addresses other than IP, stay unchanged.
inline int bind_elsewhere(int socket, const sockaddr* address, socklen_t bytes,
                          const OwnAddresses& own, Replaced replaced) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (address != nullptr && address->sa_family == AF_INET && bytes == sizeof v4) {
    std::memcpy(&v4, address, sizeof v4);
    if (replaced == Replaced::Every || v4.sin_addr.s_addr == INADDR_ANY) v4.sin_addr = own.v4;
    address = reinterpret_cast<const sockaddr*>(&v4);
  } else if (address != nullptr && address->sa_family == AF_INET6 && bytes == sizeof v6) {
    std::memcpy(&v6, address, sizeof v6);
    if (replaced == Replaced::Every || IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) {
      v6.sin6_addr = own.v6;
    }
    address = reinterpret_cast<const sockaddr*>(&v6);
  }
  return static_cast<int>(syscall(SYS_bind, socket, address, bytes));
}

}  // namespace regatta
