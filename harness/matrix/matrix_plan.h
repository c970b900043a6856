// SPDX-License-Identifier: Apache-2.0
//
// The plan of a matrix, from TOML: blocks of axes, each the cross product of its values, minus the
// excluded cells. A key is a flag of `regatta run` with `_` for `-`; a value is the flag's value.
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

/// One cell: the arguments of `regatta run` without seed and folders.
struct MatrixCell {
  std::vector<std::string> arguments;  ///< `--workload`, `parabola`, ...
  std::string workload;
  std::string strategy;
  std::vector<std::string> settings;  ///< `2 workers`, `steps=100`
  std::string name;                   ///< `parabola all_reduce (2 workers, steps=100)`
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

/// The plan of the file or the tier, with the seeds that the request asks for. Throws:
/// RunError(Usage).
MatrixPlan plan_of(const MatrixRequest& request);

/// `source`: the name of the text in errors. Throws: RunError(Usage) that names block, key and the
/// nearest valid one.
MatrixPlan parse_matrix(const std::string& text, const std::string& source);

/// The placement of a cell, without loading data. Throws: RunError(Usage), RunError(Unsupported).
Placement placement_of(const MatrixCell& cell);

/// Removes the cells that cannot run from the plan and returns them, without loading data.
/// Throws: RunError(Usage) when none is left.
std::vector<RejectedCell> reject_invalid(MatrixPlan& plan);

/// Loads each data set of the cells once. `data_dir`: folder of data sets that are files.
/// Throws: RunError(Data) for a missing or damaged one.
void require_data(std::span<const MatrixCell> cells, const std::string& data_dir);

}  // namespace regatta
