// SPDX-License-Identifier: Apache-2.0
//
// The reports of a run's processes as one, and those of a run that went on from a checkpoint.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/run/trainer.h"

namespace regatta {

/// Workers stand in the order of their places, loops in that of their numbers. The histories of one
/// loop in several processes become one: losses add up, and a step takes as long as at the slowest.
TrainingReport merged(const std::vector<TrainingReport>& parts);

/// A loop's loss is a sum over its processes: where one of them has reported none, it is forgotten.
/// `parts` and `reports` are by process.
void drop_incomplete_losses(const std::vector<Step>& parts,
                            const std::vector<TrainingReport>& reports, TrainingReport& all);

/// Counts of examples at which a step of any loop began: ascending, each once. Loops that have a
/// quorum make one step together at each.
std::vector<std::int64_t> beginnings(const std::vector<LoopHistory>& loops);

/// Of a report that was read. Throws: RunError(Data) where a loop's histories differ in length.
void require_whole(const TrainingReport& report);

/// Of one run in two pieces: sums and histories of both, memory, clocks and lost processes of the
/// later.
TrainingReport joined(const TrainingReport& former, TrainingReport later);

}  // namespace regatta
