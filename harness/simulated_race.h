// SPDX-License-Identifier: Apache-2.0
//
// A race in virtual time that computes nothing: the same workload, rewrite, partition and lane
// order as race.h, on the cluster of a file. The record has times, bytes and staleness, but no
// losses. With --virtual train, race() itself runs in virtual time.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"
#include "harness/simulate/virtual_cell.h"

namespace regatta {

/// Throws: RunError(Usage, Data, Unsupported) for a cluster or calibration that does not fit;
/// RunError(Timeout) if lanes wait for each other for ever.
Record simulated_race(const RaceRequest& request);

/// The fields of a record about its virtual time.
Simulated simulated_facts(const VirtualCell& cell, VirtualMode mode, std::uint64_t events);

/// Prints the median step, speed, shares of time, and the record's file.
void print_simulated(std::ostream& out, const Record& record, const std::string& folder);

}  // namespace regatta
