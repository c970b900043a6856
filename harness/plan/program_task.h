// SPDX-License-Identifier: Apache-2.0
//
// The task of another program (--program): a workload that it claims, or one of its own.
#pragma once

#include <cstdint>

#include "harness/plan/race_request.h"

namespace regatta::plan {

struct ProgramTask {
  record::Cell cell;
  record::Target target;
  std::int64_t train_examples = 0;  ///< 0: a task of its own
  std::int64_t total_examples = 0;  ///< of the whole run; 0: a task of its own
};

/// Returns the request for the run of `single` with which a program that claims a workload is
/// compared. It has the program's global batch.
RaceRequest reference_of(const RaceRequest& request);

/// Returns the task of a program that may use `cores` cores. Throws: RunError(Usage, Unsupported)
/// if `single` cannot run the claimed workload; RunError(Data) if files that determine the size of
/// its data set are missing.
ProgramTask program_task(const RaceRequest& request, int cores);

}  // namespace regatta::plan
