// SPDX-License-Identifier: Apache-2.0
//
// One race in virtual time in which nothing is computed: the same workload, rewrite, partition and
// lane order as race.h, on the cluster of a file. The record has times, bytes and staleness, no
// losses. With --virtual train, race() itself runs in virtual time.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"
#include "harness/simulate/virtual_cell.h"

namespace regatta {

/// Throws: RunError(Usage, Data, Unsupported): a cluster or calibration that does not fit;
/// RunError(Timeout): lanes that wait for each other for ever.
Record simulated_race(const RaceRequest& request);

/// What a record says of its virtual time.
Simulated simulated_facts(const VirtualCell& cell, VirtualMode mode, std::uint64_t events);

/// Median step, speed and shares of time, and the record's file.
void print_simulated(std::ostream& out, const Record& record, const std::string& folder);

}  // namespace regatta
