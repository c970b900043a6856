// SPDX-License-Identifier: Apache-2.0
//
// Merges the reports of a run's processes, and the reports of a run's pieces before and after a
// checkpoint.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/run/trainer.h"

namespace regatta::run {

/// Merges the reports of a run's processes. Entries for the same worker (place) or loop (number)
/// become one: a loop's losses are added over processes, and its step time is that of the slowest
/// process.
TrainingReport merged(const std::vector<TrainingReport>& parts);

/// Drops a loop's losses if one of its processes has reported none, because a loop's loss is a sum
/// over its processes. `parts[p]` and `reports[p]` are the step and report of process p; `all` is
/// the merged report.
void drop_incomplete_losses(const std::vector<Step>& parts,
                            const std::vector<TrainingReport>& reports, TrainingReport& all);

/// The example counts at which a step of any loop began, ascending and distinct. Loops with a
/// quorum begin a common step at each of these counts.
std::vector<std::int64_t> beginnings(const std::vector<LoopHistory>& loops);

/// Checks a report that was read from a message or file. Throws: RunError(Data) if the histories of
/// a loop differ in length.
void require_whole(const TrainingReport& report);

/// Joins the reports of a run's pieces before and after a checkpoint: adds up counts and
/// concatenates histories, but keeps memory, clocks and lost processes of the later piece.
TrainingReport joined(const TrainingReport& former, TrainingReport later);

}  // namespace regatta::run
