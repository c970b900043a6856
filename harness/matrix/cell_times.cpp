// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/cell_times.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/system/duration.h"
#include "harness/system/machine.h"

namespace regatta {

CellTimes::CellTimes(const MatrixPlan& plan, std::vector<FinishedRun> here)
    : here_(std::move(here)), committed_(committed_runs(machine_facts())) {
  for (const MatrixCell& cell : plan.cells) lengths_.push_back(run_length(cell));
}

std::optional<ExpectedTime> CellTimes::expected(std::size_t cell) const {
  return expected_time(lengths_[cell], {.here = here_, .committed = committed_, .timed = timed_});
}

void CellTimes::time_unknown(std::span<const std::size_t> cells, Deadline deadline,
                             const std::function<bool()>& stops) {
  std::set<std::tuple<std::string, std::string, std::string>> tried;
  for (const std::size_t cell : cells) {
    const RunLength& length = lengths_[cell];
    if (stops() || Deadline::clock::now() >= deadline) return;
    if (expected(cell)) continue;
    if (!tried.emplace(length.workload, length.dtype, length.device).second) continue;
    fmt::print("timing a few steps of {} in {}\n", length.workload, length.dtype);
    std::fflush(stdout);
    if (auto timed = short_run(length, deadline)) timed_.push_back(std::move(*timed));
  }
}

std::string CellTimes::text(std::span<const std::size_t> cells) const {
  double seconds = 0;
  std::map<Basis, std::size_t> by_basis;
  for (const std::size_t cell : cells) {
    const auto time = expected(cell);
    if (!time) continue;
    seconds += time->seconds;
    ++by_basis[time->basis];
  }
  const std::size_t runs = cells.size();
  std::vector<std::string> known;
  std::size_t unknown = runs;
  for (const auto& [basis, count] : by_basis) {
    known.push_back(fmt::format("{} by {}", count, to_string(basis)));
    unknown -= count;
  }
  if (runs == 0) return "0 runs left";
  if (known.empty()) return fmt::format("{} runs left, their time is not known yet", runs);
  if (unknown > 0) known.push_back(fmt::format("{} not known yet", unknown));
  return fmt::format("{} runs left, {} {} ({})", runs, unknown > 0 ? "more than" : "about",
                     rough_duration(seconds), fmt::join(known, ", "));
}

}  // namespace regatta
