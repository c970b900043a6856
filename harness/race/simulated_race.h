// SPDX-License-Identifier: Apache-2.0
//
// A race in virtual time that simulates a run without computing values: it has the same workload,
// rewrite, partition and lane order as race.h, on a cluster that a file describes. The record has
// times, bytes and staleness, but no losses. For --virtual train, use race() instead.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"
#include "harness/simulate/virtual_cell.h"

namespace regatta::race {

/// Simulates the run and returns its record. Throws: RunError(Usage, Data, Unsupported) if the
/// cluster or the calibration does not fit the run; RunError(Timeout) if lanes deadlock.
record::Record simulated_race(const plan::RaceRequest& request);

/// Returns the record's fields about virtual time. `events` is the number of simulated events.
record::Simulated simulated_facts(const simulate::VirtualCell& cell, simulate::VirtualMode mode,
                                  std::uint64_t events);

/// Prints the median step time, the speed, the shares of time, and the path of the record.
void print_simulated(std::ostream& out, const record::Record& record, const std::string& folder);

}  // namespace regatta::race
