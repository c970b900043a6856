// SPDX-License-Identifier: Apache-2.0
//
// Chooses the runs of a matrix with a time limit, `regatta matrix --within 3min`. Each cell gets
// its first run before any cell gets another, unless a matrix that decides has too little time
// (MatrixLeg::seconds_of_begun); then the seeds follow one after another. A run that
// is expected to end after the limit is skipped in favour of a later one that fits. The time of a
// cell's first run is unknown, so that run starts if any time is left. A matrix therefore exceeds
// its limit by one run at most.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta::matrix {

inline constexpr std::size_t kMostColumns = 100;  ///< longest line with names of cells

/// A run of the plan that is not in the folder yet.
struct MissingRun {
  std::size_t cell = 0;           ///< index into MatrixPlan::cells
  std::optional<double> seconds;  ///< expected time; empty: unknown
};

/// Returns the index in `missing` of the next run; empty if no run is left or fits. `missing` is
/// ordered by seed, then by cell; `begun` are the cells that have a run; `seconds_left` is the time
/// to the limit, or infinity.
std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left);

/// Lists at least one name, and as many as fit into `most` characters: `a, b and 30 more`.
std::string few_of(std::span<const std::string> names, std::size_t most);

}  // namespace regatta::matrix
