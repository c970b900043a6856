// SPDX-License-Identifier: Apache-2.0
//
// The sides of `--all-reduce torus` where its members are on several hosts: a row is what a host
// has, whose messages stay on it, and what is left of the sum crosses to the others by columns.
#pragma once

#include <cstdint>
#include <span>

#include "harness/plan/race_request.h"

namespace regatta {

/// 2 for hosts with two members each, whose hosts these are. 0 where hosts have one member or
/// different numbers of them, where they stand mixed, or where there is one host.
std::int64_t members_on_host(std::span<const int> host_of_member);

/// With its replicas_on_host: on the cluster's hosts in virtual time, else on those that processes
/// will be on. One of one process, or whose hosts are not known, stays as it is.
/// Throws: RunError(Usage, Data), of a request that cannot be placed or files that cannot be read.
RaceRequest with_replicas_on_host(const RaceRequest& request);

/// The same, where the request asks for a torus without --torus, or for `auto`, which may pick one.
/// Any other stays as it is.
RaceRequest with_torus_of_hosts(const RaceRequest& request);

}  // namespace regatta
