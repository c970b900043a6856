// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/program_task.h"

#include <fmt/format.h>

#include "harness/plan/cell.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "kernels/base/random.h"

namespace regatta::plan {

RaceRequest reference_of(const RaceRequest& request) {
  RaceRequest reference = request;
  reference.program = {};
  reference.strategy = "single";
  reference.workers = 1;
  if (!reference.global_batch) {
    reference.global_batch = workloads::default_global_batch(
        workloads::find_workload(request.workload), request.workers);
  }
  return reference;
}

ProgramTask program_task(const RaceRequest& request, int cores) {
  const ProgramRequest& program = request.program;
  ProgramTask task{.cell = request, .target = {.metric = program.metric}};
  if (program.workload_name.empty()) {
    const RaceRequest reference = reference_of(request);
    const Placement placement = place_without_data(reference);
    task.cell = cell_of(reference, placement,
                        {.dataset = dataset_of(reference, *placement.workload), .cores = cores});
    task.target = {.metric = std::string(to_string(placement.workload->metric)),
                   .value = placement.target};
    task.train_examples = placement.recipe.train_examples;
    task.total_examples = placement.recipe.total_examples;
  } else {
    task.target.value = *request.target;
  }
  task.cell.strategy = request.strategy;
  task.cell.workers = request.workers;
  task.cell.program = record::ProgramCell{.name = program.name,
                                          .digest = fmt::format("{:016x}", fnv1a(program.command)),
                                          .strategy = program.strategy};
  count_cores({{.workers = static_cast<int>(request.workers), .cores = cores}}, task.cell);
  return task;
}

}  // namespace regatta::plan
