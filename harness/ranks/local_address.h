// SPDX-License-Identifier: Apache-2.0
//
// The address at which other machines in the same network can reach this one, and the network
// interface that has the address.
#pragma once

#include <string>

namespace regatta::ranks {

inline constexpr char kLoopback[] = "127.0.0.1";

/// The source address, without port, of packets from this machine to `ADDRESS:PORT`. ADDRESS is an
/// IPv4 address or a host name; for a loopback address the result is one too.
/// Throws: RunError(Usage).
std::string address_towards(const std::string& address_and_port);

/// The name of this machine's network interface with an IPv4 address, such as `lo` for `127.0.0.1`;
/// empty if no interface has the address.
std::string interface_with(const std::string& address);

}  // namespace regatta::ranks
