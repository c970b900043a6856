// SPDX-License-Identifier: Apache-2.0
//
// `regatta matrix` runs every cell of a plan with every seed, each run in its own process, and
// appends the records to one folder. Seeds are the outermost loop, so that drift of the machine
// affects all cells equally. The cell and the seed of a record identify a finished run, so
// `--resume` performs the runs that are missing from the folder, however the matrix ended.
// `--decide` races until it is decided who is first (decision.h), `--within` limits the time and
// implies `--decide`, and `--draw` updates a figure as records arrive (matrix_figure.h). Tuning
// (tune.h) is a separate matrix that runs first, in the subfolder `tuning`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace regatta::matrix {

/// A request to run, resume or preview a matrix.
struct MatrixRequest {
  std::string file;                   ///< a plan in TOML; empty: `tier` is used
  std::string tier;                   ///< name of a built-in matrix (tiers.h)
  std::optional<std::int64_t> seeds;  ///< number of seeds, from 1 on; empty: the plan's seeds
  std::string out = "out";            ///< folder of the records
  std::string data_dir;
  std::optional<std::string> within;  ///< time limit as text, such as `3min`; empty: none
  enum class Until { Planned, Decided } until = Until::Planned;
  std::string precision = "5%";  ///< as for `--precision` (decision.h)
  enum class Mode { Run, Resume, DryRun } mode = Mode::Run;
  enum class Figure { None, Growing } figure = Figure::None;
  enum class Tune { AsPlanned, Always } tune = Tune::AsPlanned;
};

/// Runs the matrix. Returns 0 if it ended or reached its time limit, 2 if a run failed, 128 + the
/// signal's number if interrupted.
/// Throws: RunError(Usage), RunError(Io).
int run_matrix(const MatrixRequest& request);

}  // namespace regatta::matrix
