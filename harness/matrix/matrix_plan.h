// SPDX-License-Identifier: Apache-2.0
//
// What a matrix races, from TOML: blocks of axes, each the cross product of its values, less what
// is excluded. A key is a flag of `regatta run` with `_` for `-`, a value is that flag's.
//
//   seeds = 5                                # 1 to 5, or a list of seeds
//   [[race]]
//   workload = ["parabola", "resnet9_thin"]  # a list is an axis
//   strategy = ["in_graph", "all_reduce"]
//   workers = 2                              # anything else holds for the whole block
//   [[exclude]]                              # cells that have all of these
//   workload = "parabola"
//   strategy = "in_graph"
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"

namespace regatta {

/// One cell: what `regatta run` is told, less seed and folders.
struct MatrixCell {
  std::vector<std::string> arguments;  ///< `--workload`, `parabola`, ...
  std::string name;                    ///< `parabola all_reduce x2`, and what else is asked for
  bool operator==(const MatrixCell&) const = default;
};

struct RejectedCell {
  MatrixCell cell;
  std::string reason;
};

struct MatrixPlan {
  std::vector<std::uint64_t> seeds;
  std::vector<MatrixCell> cells;  ///< in the file's order
};

struct MatrixRequest;

/// The file's or the tier's, with as many seeds as the request asks for. Throws: RunError(Usage).
MatrixPlan plan_of(const MatrixRequest& request);

/// `source`: what errors call the text. Throws: RunError(Usage) that names block, key and the
/// nearest valid one.
MatrixPlan parse_matrix(const std::string& text, const std::string& source);

/// Throws: RunError(Usage) naming the tiers there are.
MatrixPlan tier_plan(const std::string& name);

/// Looks at no data. Throws: RunError(Usage), RunError(Unsupported).
Placement placement_of(const MatrixCell& cell);

/// Takes the cells that cannot run out of the plan; looks at no data.
/// Throws: RunError(Usage) when none is left.
std::vector<RejectedCell> reject_invalid(MatrixPlan& plan);

/// Loads each data set of the cells once. `data_dir`: for those that are files.
/// Throws: RunError(Data) for a missing or damaged one.
void require_data(std::span<const MatrixCell> cells, const std::string& data_dir);

}  // namespace regatta
