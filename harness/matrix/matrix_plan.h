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
//   [[tune]]                                 # cells of these choose from the other keys' values
//   strategy = "diloco"                      # (tune.h), also as a part of a composition
//   rate_scale = [0.5, 1, 2]
//
// Tuning has `tune_seeds` (1001 and 1002, or in the form of `seeds`) and for each cell at most
// `tune_budget` runs (20).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
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

using FlagValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the cell with more flags, such as `--rate-scale` with 2.
MatrixCell with_flags(MatrixCell cell, const FlagValues& flags);

struct TuneBlock {
  std::vector<std::string> workloads, strategies;  ///< of the cells to which it applies; empty: all
  std::vector<std::pair<std::string, std::vector<std::string>>> choices;  ///< values by flag
};
bool is_for(const TuneBlock& block, const MatrixCell& cell);

struct TunePlan {
  std::vector<TuneBlock> blocks;  ///< the first one that applies to a cell tunes it
  std::vector<std::uint64_t> seeds;
};

struct MatrixPlan {
  std::vector<std::uint64_t> seeds;
  std::vector<MatrixCell> cells;  ///< in the file's order
  TunePlan tune = {};
};

struct MatrixRequest;

/// Makes the plan of the file or the tier, with the requested seeds. Throws: RunError(Usage).
MatrixPlan plan_of(const MatrixRequest& request);

/// Parses a plan. `source`: the name of the text in errors. Throws: RunError(Usage) that names
/// block, key and the nearest valid one.
MatrixPlan parse_matrix(const std::string& text, const std::string& source);

/// Places a cell without loading data. Throws: RunError(Usage), RunError(Unsupported).
Placement placement_of(const MatrixCell& cell);

/// Removes the cells that cannot run from the plan and returns them, without loading data. Throws:
/// RunError(Usage) if none is left.
std::vector<RejectedCell> reject_invalid(MatrixPlan& plan);

/// Loads each data set of the cells once. `data_dir`: the folder of data sets that are files.
/// Throws: RunError(Data) for a missing or damaged one.
void require_data(std::span<const MatrixCell> cells, const std::string& data_dir);

}  // namespace regatta
