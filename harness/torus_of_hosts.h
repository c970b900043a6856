// SPDX-License-Identifier: Apache-2.0
//
// The sides of `--all-reduce torus` if its members are on several hosts: the members on one host
// form a row, whose messages stay on the host, and columns carry the rest of the sum between hosts.
#pragma once

#include <cstdint>
#include <span>

#include "harness/plan/race_request.h"

namespace regatta {

/// The number of members on each host, such as 2; `host_of_member` has a host per member. 0 if
/// hosts have one member or unequal numbers, if members of hosts are mixed, or if there is one
/// host.
std::int64_t members_on_host(std::span<const int> host_of_member);

/// The request with its replicas_on_host, from the cluster's hosts in virtual time, else from those
/// on which processes will run. A request for one process, or with unknown hosts, is returned
/// unchanged.
/// Throws: RunError(Usage, Data) for a request that cannot be placed or files that cannot be read.
RaceRequest with_replicas_on_host(const RaceRequest& request);

/// with_replicas_on_host() if the request is for a torus without --torus, or for `auto`, which may
/// pick one; any other request is returned unchanged.
RaceRequest with_torus_of_hosts(const RaceRequest& request);

}  // namespace regatta
