// SPDX-License-Identifier: Apache-2.0
//
// The sides of `--all-reduce torus` where its members are on several hosts: a row is what a host
// has, whose messages stay on it, and what is left of the sum crosses to the others by columns.
#pragma once

#include <span>
#include <string>

#include "harness/plan/race_request.h"

namespace regatta {

/// `2x3` for three hosts with two members each, whose hosts these are. Empty where hosts have one
/// member or different numbers of them, where they stand mixed, or where there is one host.
std::string sides_by_hosts(std::span<const int> host_of_member);

/// With --torus, where the request asks for a torus without; the cluster's hosts in virtual time,
/// else those that processes will be on. A request to which this does not apply stays as it is.
/// Throws: RunError(Usage, Data), of a request that cannot be placed or files that cannot be read.
RaceRequest with_torus_of_hosts(const RaceRequest& request);

}  // namespace regatta
