// SPDX-License-Identifier: Apache-2.0
//
// `regatta matrix`: races every cell of a plan with every seed, each run in a process of its own,
// and appends the records to one folder. Seeds are the outermost loop, so that drift of the machine
// affects all cells equally. The commands in a folder's records identify the finished runs, so
// `--resume` makes exactly the missing ones, however the matrix ended. `--within` limits its time
// (matrix_budget.h), `--draw` updates a figure as records arrive (matrix_figure.h). Tuning (tune.h)
// is a matrix of its own before it, in the folder's subfolder `tuning`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

/// A request to run, resume or preview a matrix.

struct MatrixRequest {
  std::string file;  ///< TOML; empty: `tier`
  std::string tier;
  std::optional<std::int64_t> seeds;  ///< 1 to this many, instead of the plan's
  std::string out = "out";
  std::string data_dir;
  std::optional<std::string> within;  ///< for parse_duration(); empty: no limit
  enum class Mode { Run, Resume, DryRun } mode = Mode::Run;
  enum class Figure { None, Growing } figure = Figure::None;
  enum class Tune { AsPlanned, Always } tune = Tune::AsPlanned;
};

/// Returns 0, also if the time limit was reached; 2 if a run failed; 128 + signal if interrupted.
/// Throws: RunError(Usage), RunError(Io).
int run_matrix(const MatrixRequest& request);

}  // namespace regatta
