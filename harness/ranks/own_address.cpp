// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/own_address.h"

#include <arpa/inet.h>

#include <atomic>

#include "harness/ranks/bind_elsewhere.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

std::atomic<in_addr_t> own_address{INADDR_ANY};

}  // namespace

void listen_only_at(const std::string& address) {
  in_addr own{};
  if (inet_pton(AF_INET, address.c_str(), &own) != 1) {
    throw RunError(ErrorKind::Usage, "'" + address + "' is no address of IPv4");
  }
  own_address = own.s_addr;
}

}  // namespace regatta

/// Of this program and of all libraries that it loads: the linker exports it in libc's place.
extern "C" int bind(int socket, const sockaddr* address, socklen_t bytes) {
  const in_addr_t own = regatta::own_address;
  if (own == INADDR_ANY) return static_cast<int>(syscall(SYS_bind, socket, address, bytes));
  return regatta::bind_elsewhere(socket, address, bytes, {.s_addr = own},
                                 regatta::Replaced::AllInterfaces);
}
