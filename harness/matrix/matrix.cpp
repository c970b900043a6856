// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix.h"

#include <fmt/format.h>

#include <utility>

#include "harness/matrix/decision.h"
#include "harness/matrix/matrix_leg.h"
#include "harness/matrix/tune.h"
#include "harness/record/record_writer.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

/// Tunes the settings of the race. Returns an exit code if the matrix is interrupted or runs out of
/// time before the race. `lock` is null for a dry run.
std::optional<int> tune(const MatrixRequest& request, const system::FolderLock* lock, Leg& race) {
  const Tuning tuning(race.plan);
  Leg leg{.purpose = Leg::Purpose::Tune,
          .folder = request.out + "/tuning",
          .plan = tuning.trials(),
          .rejected = {},
          .begin = race.begin,
          .tuned = {}};
  if (leg.plan.cells.empty()) return std::nullopt;
  leg.rejected = reject_invalid(leg.plan, request.data_dir);
  MatrixLeg trials(request, std::move(leg));
  if (lock == nullptr) trials.describe();
  const int code = lock == nullptr ? 0 : trials.run(*lock);
  if (code >= kSignalled) return code;
  if (!trials.is_complete()) {
    if (lock != nullptr) return code;
    fmt::print("then, with the settings that these choose:\n");
    return std::nullopt;
  }
  race.tuned =
      tuning.choose(race.plan, [&](const MatrixCell& cell) { return trials.kept().runs_of(cell); });
  for (const auto& [workload, text] : race.tuned) fmt::print("{}: {}\n", workload, text);
  for (MatrixCell& cell : race.plan.cells) {
    if (cell.key.empty()) identify(cell, request.data_dir);
  }
  return std::nullopt;
}

/// Whether the race ends once it is decided. A time limit implies this if the plan has several
/// cells to choose from.
bool decides(const MatrixRequest& request, const MatrixPlan& plan) {
  parse_precision(request.precision);
  if (request.until == MatrixRequest::Until::Decided) {
    require_contests(plan);
    return true;
  }
  return request.within && plan.cells.size() > 1;
}

int race(MatrixRequest request, const system::FolderLock* lock) {
  Leg leg{.folder = request.out,
          .plan = plan_of(request),
          .rejected = {},
          .begin = std::chrono::steady_clock::now(),
          .tuned = {}};
  leg.rejected = reject_invalid(leg.plan, request.data_dir);
  if (decides(request, leg.plan)) {
    request.until = MatrixRequest::Until::Decided;
    leg.planned_seeds = leg.plan.seeds.size();
    if (!request.seeds) add_seeds(leg.plan);
  }
  if (const auto code = tune(request, lock, leg)) return *code;
  MatrixLeg matrix(request, std::move(leg));
  if (lock != nullptr) return matrix.run(*lock);
  matrix.describe();
  return 0;
}

}  // namespace

int run_matrix(const MatrixRequest& request) {
  if (request.mode == MatrixRequest::Mode::DryRun) return race(request, nullptr);
  record::require_writable(request.out);
  const system::FolderLock lock(request.out);
  return race(request, &lock);
}

}  // namespace regatta::matrix
