// SPDX-License-Identifier: Apache-2.0
//
// One race in virtual time: the same workload, rewrite, partition and lane order as race.h, on the
// cluster of a file. Nothing is computed: the record has times, bytes and staleness, no losses.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// Throws: RunError(Usage, Data, Unsupported): a cluster or calibration that does not fit;
/// RunError(Timeout): lanes that wait for each other for ever.
Record simulated_race(const RaceRequest& request);

/// Median step, speed and shares of time, and the record's file.
void print_simulated(std::ostream& out, const Record& record, const std::string& folder);

}  // namespace regatta
