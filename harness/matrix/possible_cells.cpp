// SPDX-License-Identifier: Apache-2.0
//
// Selects the cells of a plan that can run here.
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/judge/cell_identity.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/plan/cell.h"
#include "harness/plan/program_task.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/slurm_room.h"
#include "harness/plan/training_options.h"
#include "kernels/base/error.h"

namespace regatta::matrix {

void identify(MatrixCell& cell, const std::string& data_dir) {
  plan::RaceRequest request = plan::parse_run(cell.arguments);
  request.data_dir = data_dir;
  record::Record run;
  if (cell.is_program) {
    const plan::ProgramTask task = plan::program_task(request, 1);
    run.cell = task.cell;
    run.target = task.target;
  } else {
    const plan::Placement placement = plan::place_without_data(request);
    plan::require_room(request, placement);
    run.cell = plan::cell_of(request, placement,
                             {.dataset = plan::dataset_of(request, *placement.workload)});
    run.target.value = placement.target;
  }
  cell.key = judge::request_key(run);
  cell.cores = request.cores;
}

std::vector<RejectedCell> reject_invalid(MatrixPlan& plan, const std::string& data_dir) {
  const auto reason = [&](MatrixCell& cell) -> std::optional<std::string> {
    try {
      identify(cell, data_dir);
    } catch (const RunError& error) {
      if (error.kind() == ErrorKind::Data) throw;
      return error.what();
    }
    return std::nullopt;
  };
  std::vector<RejectedCell> rejected;
  std::vector<MatrixCell> valid;
  for (MatrixCell& cell : plan.cells) {
    if (const auto why = reason(cell)) {
      rejected.push_back({.cell = cell, .reason = *why});
    } else {
      valid.push_back(cell);
    }
  }
  if (valid.empty()) {
    throw RunError(ErrorKind::Usage,
                   "none of the cells can run; the first: " + rejected.front().cell.name + ": " +
                       rejected.front().reason);
  }
  plan.cells = std::move(valid);
  return rejected;
}

void require_data(std::span<const MatrixCell> cells, const std::string& data_dir) {
  std::set<std::tuple<std::string, std::string, OptionValues>> loaded;
  for (const MatrixCell& cell : cells) {
    plan::RaceRequest request = plan::parse_run(cell.arguments);
    request.data_dir = data_dir;
    if (!request.program.workload_name.empty()) continue;  // it loads its data itself
    const workloads::Workload& workload = workloads::find_workload(request.workload);
    const std::string dataset = plan::dataset_of(request, workload);
    const OptionValues options = workloads::with_defaults(workload, request.options).given;
    if (!loaded.emplace(dataset, request.data, options).second) continue;
    workloads::load_data(workload, dataset, plan::files_of(request));
  }
}

}  // namespace regatta::matrix
