// SPDX-License-Identifier: Apache-2.0
//
// The address of this machine by which others in the same network reach it.
#pragma once

#include <string>

namespace regatta {

/// The address, without port, that packets to `ADDRESS:PORT` would come from: loopback for a
/// loopback address. IPv4 addresses and names. Throws: RunError(Usage).
std::string address_towards(const std::string& address_and_port);

}  // namespace regatta
