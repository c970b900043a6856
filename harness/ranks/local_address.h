// SPDX-License-Identifier: Apache-2.0
//
// The address at which others in the same network can reach this machine, and its interface.
#pragma once

#include <string>

namespace regatta {

/// The source address, without port, of packets to `ADDRESS:PORT`; loopback for a loopback address.
/// Accepts IPv4 addresses and names. Throws: RunError(Usage).
std::string address_towards(const std::string& address_and_port);

/// The name of this machine's network interface with the address, such as `lo`; empty if none has
/// it.
/// Shapes: `127.0.0.1`.
std::string interface_with(const std::string& address);

}  // namespace regatta
