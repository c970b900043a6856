// SPDX-License-Identifier: Apache-2.0
//
// Reads the plan of a matrix from TOML. Each block [[race]] adds the cross product of its lists of
// values; cells that match a block [[exclude]] are removed. A key is a flag of `regatta run` with
// `_` instead of `-`, and a value is the flag's value.
//
//   seeds = 5                                # 1 to 5, or a list of seeds
//   [[race]]
//   workload = ["parabola", "resnet9_thin"]  # a list is an axis
//   strategy = ["in_graph", "all_reduce"]
//   workers = 2                              # a single value holds for the whole block
//   [[exclude]]                              # removes cells that have all of these values
//   workload = "parabola"
//   strategy = "in_graph"
//   [[tune]]                                 # tunes the cells of these workloads and strategies,
//   strategy = "diloco"                      # also as a part of a composition (tune.h);
//   rate_scale = [0.5, 1, 2]                 # other keys have the values to choose from
//
// Two more keys, `tune_seeds` (written like `seeds`; default 1001 and 1002) and `tune_budget`
// (default 20), set the seeds of tuning and its largest number of runs per cell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/race_request.h"

namespace regatta::matrix {

/// One cell of the matrix, given by arguments of `regatta run` without seed and folders.
struct MatrixCell {
  std::vector<std::string> arguments;  ///< `--workload`, `parabola`, ...
  std::string workload;
  std::string strategy;
  std::vector<std::string> settings;  ///< `2 workers`, `steps=100`
  std::string name;                   ///< `parabola all_reduce (2 workers, steps=100)`
  std::string key = {};               ///< request_key() of its runs; identify() sets it
  std::int64_t cores = 0;             ///< number of cores of its runs; 0: all available
  bool is_program = false;            ///< another program (--program) trains
  bool operator==(const MatrixCell& other) const { return arguments == other.arguments; }
};

/// A cell of the plan that cannot run, and the reason.
struct RejectedCell {
  MatrixCell cell;
  std::string reason;
};

using FlagValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the cell with additional flags, such as `--rate-scale` with value 2.
MatrixCell with_flags(MatrixCell cell, const FlagValues& flags);

/// A block [[tune]] of the plan.
struct TuneBlock {
  std::vector<std::string> workloads, strategies;  ///< cells to which it applies; empty: all
  std::vector<std::pair<std::string, std::vector<std::string>>> choices;  ///< flags, their values
};
bool is_for(const TuneBlock& block, const MatrixCell& cell);

struct TunePlan {
  std::vector<TuneBlock> blocks;  ///< a cell is tuned by the first block that applies to it
  std::vector<std::uint64_t> seeds;
};

struct MatrixPlan {
  std::vector<std::uint64_t> seeds;
  std::vector<MatrixCell> cells;  ///< in the order of the file
  TunePlan tune = {};
};

struct MatrixRequest;

/// Returns the plan of the request's file or tier, with the requested seeds. Throws:
/// RunError(Usage).
MatrixPlan plan_of(const MatrixRequest& request);

/// Parses a plan. `source` is the name of the text in errors. Throws: RunError(Usage); the text has
/// the block, the key and the nearest valid key.
MatrixPlan parse_matrix(const std::string& text, const std::string& source);

/// Sets the cell's `key`, which identifies its runs, and its `cores`. Throws: RunError(Usage),
/// RunError(Unsupported), RunError(Data) if it cannot run.
void identify(MatrixCell& cell, const std::string& data_dir);

/// Removes the cells that cannot run from the plan and returns them; calls identify() for the
/// others. Loads no data. Throws: RunError(Usage) if no cell is left; RunError(Data) if files that
/// determine the size of a data set are missing or damaged.
std::vector<RejectedCell> reject_invalid(MatrixPlan& plan, const std::string& data_dir = "");

/// Checks that each data set of the cells can be loaded, by loading it. `data_dir` is the folder of
/// data sets that are read from files. Throws: RunError(Data) if one is missing or damaged.
void require_data(std::span<const MatrixCell> cells, const std::string& data_dir);

}  // namespace regatta::matrix
