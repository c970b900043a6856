// SPDX-License-Identifier: Apache-2.0
//
// Plans a cell for virtual time without values. If all replicas or shards of the run are alike and
// on like hosts, only one is built and stands for all: a step of a large cluster then takes the
// time and memory of one replica. Otherwise every place is built.
#pragma once

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/simulate/cluster_file.h"

namespace regatta::simulate {

/// Plans the cell. Throws: like place_without_data() and hosts_of_processes().
plan::Placement place_alike(const plan::RaceRequest& request, const ClusterFile& file);

}  // namespace regatta::simulate
