// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/local_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

bool has_address(const ifaddrs& interface, const in_addr& address) {
  if (interface.ifa_addr == nullptr || interface.ifa_addr->sa_family != AF_INET) return false;
  return reinterpret_cast<const sockaddr_in*>(interface.ifa_addr)->sin_addr.s_addr ==
         address.s_addr;
}

}  // namespace

std::string address_towards(const std::string& address_and_port) {
  const std::size_t colon = address_and_port.rfind(':');
  const auto fail = [&]() -> RunError {
    return {ErrorKind::Usage, "no way to the address '" + address_and_port + "' is known"};
  };
  if (colon == std::string::npos) throw fail();
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address_and_port.substr(0, colon).c_str(),
                  address_and_port.substr(colon + 1).c_str(), &hints, &found) != 0) {
    throw fail();
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw fail();
  sockaddr_in own{};
  socklen_t size = sizeof own;
  // Connecting a datagram socket sends nothing; it only chooses the route.
  const bool known = connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
                     getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(descriptor);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (!known || inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) == nullptr) {
    throw fail();
  }
  return text.data();
}

std::string interface_with(const std::string& address) {
  in_addr wanted{};
  ifaddrs* all = nullptr;
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1 || getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(all, freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (has_address(*each, wanted)) return each->ifa_name;
  }
  return "";
}

}  // namespace regatta::ranks
