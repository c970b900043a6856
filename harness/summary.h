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

namespace regatta {

/// Sets workers, step times, training losses, counted bytes and the data order's checksum.
/// `examples`: the number trained on.
void summarize(const TrainingReport& report, std::int64_t examples, Record& record);

/// The nodes and bytes of a graph, without its build time. `parts`: by process.
/// `steps`: the number that the run may take.
GraphRecord graph_record(const std::vector<Step>& parts, std::int64_t steps);

/// A checksum of the trainer's parameters, in hexadecimal; taken before the first step.
std::string checksum_of_weights(Trainer& trainer);

/// Checks that after a synchronous run every replica holds the same bits.
/// Throws: RunError(Diverged) that names the variable that differs.
void check_replicas_agree(Trainer& trainer, const Placement& placement);

}  // namespace regatta
