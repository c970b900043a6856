// SPDX-License-Identifier: Apache-2.0
//
// Merges the reports of a run's processes, and the reports of a run's pieces before and after a
// checkpoint.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/run/trainer.h"

namespace regatta {

/// Merges reports: workers by their places, loops by their numbers. The histories of a loop in
/// several processes become one: losses are added, and a step takes as long as in the slowest
/// process.
TrainingReport merged(const std::vector<TrainingReport>& parts);

/// Drops a loop's losses if one of its processes has reported none, because its loss is a sum over
/// processes. `parts` and `reports` are by process.
void drop_incomplete_losses(const std::vector<Step>& parts,
                            const std::vector<TrainingReport>& reports, TrainingReport& all);

/// The example counts at which a step of any loop began, ascending and distinct. Loops with a
/// quorum begin one common step at each.
std::vector<std::int64_t> beginnings(const std::vector<LoopHistory>& loops);

/// Checks a report that was read. Throws: RunError(Data) if a loop's histories differ in length.
void require_whole(const TrainingReport& report);

/// Joins the two pieces of a run: sums and histories of both, but memory, clocks and lost processes
/// of the later one.
TrainingReport joined(const TrainingReport& former, TrainingReport later);

}  // namespace regatta
