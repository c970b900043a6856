// SPDX-License-Identifier: Apache-2.0
//
// Turns a trainer's measurements into the fields of a record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/record/record.h"
#include "harness/run/trainer.h"

namespace regatta::race {

/// Sets the record's workers, step times, training losses, counted bytes and checksum of the data
/// order. `examples` is the number of examples trained on.
void summarize(const run::TrainingReport& report, std::int64_t examples, record::Record& record);

/// Returns the record's facts about the graph: its nodes and bytes, without the build time.
/// `parts[p]` is the step of process p; `steps` is the number of steps that the run may take.
record::GraphRecord graph_record(const std::vector<Step>& parts, std::int64_t steps);

/// Returns a checksum of the trainer's parameters, in hexadecimal. Called before the first step.
std::string checksum_of_weights(run::Trainer& trainer);

/// Checks that all replicas have bitwise the same parameters after a synchronous run; does nothing
/// after another run. Throws: RunError(Diverged) that names the variable that differs.
void check_replicas_agree(run::Trainer& trainer, const plan::Placement& placement);

}  // namespace regatta::race
