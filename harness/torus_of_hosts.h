// SPDX-License-Identifier: Apache-2.0
//
// The rows and columns of `--all-reduce torus` if its members are on several hosts: the members on
// one host form a row, whose messages stay on the host; messages between hosts follow the columns.
#pragma once

#include <cstdint>
#include <span>

#include "harness/plan/race_request.h"

namespace regatta {

/// The number of members on each host if the members can form one row per host, else 0. They can if
/// there are several hosts, each with the same number of members, at least two, in contiguous
/// entries. `host_of_member[m]` is the host of member m.
std::int64_t members_on_host(std::span<const int> host_of_member);

/// The request with `replicas_on_host` set, from the simulated cluster's hosts in virtual time,
/// else from the hosts on which processes will run. A request for one process, or one whose hosts
/// are unknown, is returned unchanged.
/// Throws: RunError(Usage, Data) for a request that cannot be placed or files that cannot be read.
RaceRequest with_replicas_on_host(const RaceRequest& request);

/// Returns with_replicas_on_host(request) if --torus is not given and --all-reduce is `torus`;
/// returns any other request unchanged.
RaceRequest with_torus_of_hosts(const RaceRequest& request);

}  // namespace regatta
