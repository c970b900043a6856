// SPDX-License-Identifier: Apache-2.0
//
// From what a trainer measured to the fields of a record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/record/record.h"
#include "harness/run/trainer.h"

namespace regatta {

/// Workers, step times, training losses, bytes counted, the order of examples. `examples`: that
/// were trained on.
void summarize(const TrainingReport& report, std::int64_t examples, Record& record);

/// Nodes and bytes; not the build time. `parts`: by process.
/// `steps`: that the run may take.
GraphRecord graph_record(const std::vector<Step>& parts, std::int64_t steps);

/// Of the first weights of replica 0.
std::string checksum_of_weights(Trainer& trainer);

/// After a synchronous run every replica holds the same bits.
/// Throws: RunError(Diverged) that names the variable that differs.
void check_replicas_agree(Trainer& trainer, const Placement& placement);

}  // namespace regatta
