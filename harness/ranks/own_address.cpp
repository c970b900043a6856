// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/own_address.h"

#include <arpa/inet.h>

#include <atomic>

#include "harness/ranks/bind_elsewhere.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

std::atomic<in_addr_t> own_address{INADDR_ANY};

/// Maps an address to IPv6 as `::ffff:10.0.0.1`: a machine may lack IPv6, and then its loopback,
/// too.
in6_addr mapped(in_addr_t own) {
  in6_addr address{};
  address.s6_addr[10] = address.s6_addr[11] = 0xff;
  std::memcpy(&address.s6_addr[12], &own, sizeof own);
  return address;
}

/// Lets an IPv6 socket bind a mapped IPv4 address; the socket stays IPv6.
void take_both_families(int socket) {
  const int off = 0;
  setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
}

}  // namespace

void listen_only_at(const std::string& address) {
  in_addr own{};
  if (inet_pton(AF_INET, address.c_str(), &own) != 1) {
    throw RunError(ErrorKind::Usage, "'" + address + "' is no address of IPv4");
  }
  own_address = own.s_addr;
}

}  // namespace regatta

/// bind() of this program and of all libraries that it loads: the linker exports it in place of
/// libc's.
extern "C" int bind(int socket, const sockaddr* address, socklen_t bytes) {
  const in_addr_t own = regatta::own_address;
  if (own == INADDR_ANY) return static_cast<int>(syscall(SYS_bind, socket, address, bytes));
  if (address != nullptr && address->sa_family == AF_INET6) regatta::take_both_families(socket);
  return regatta::bind_elsewhere(socket, address, bytes,
                                 {.v4 = {.s_addr = own}, .v6 = regatta::mapped(own)},
                                 regatta::Replaced::AllInterfaces);
}
