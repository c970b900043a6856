// SPDX-License-Identifier: Apache-2.0
//
// `regatta matrix`: races every cell of a plan with every seed, each in a process of its own, and
// adds the records to one folder. Seeds are outermost, so that a drift of the machine meets all
// cells. What a folder already holds is known by the commands in its records: so whatever ends a
// matrix, `--resume` runs what is missing and nothing twice. `--within` stops it where its time is
// up (matrix_budget.h), `--draw` draws a figure while it grows (matrix_figure.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

struct MatrixRequest {
  std::string file;  ///< TOML; empty: `tier`
  std::string tier;
  std::optional<std::int64_t> seeds;  ///< 1 to this many, instead of the plan's
  std::string out = "out";
  std::string data_dir;
  std::optional<std::string> within;  ///< as parse_duration() takes it; empty: as long as it takes
  enum class Mode { Run, Resume, DryRun } mode = Mode::Run;
  enum class Figure { None, Growing } figure = Figure::None;
};

/// Returns 0, also when the time was up; 2 when a run failed; 128 + signal when interrupted.
/// Throws: RunError(Usage), RunError(Io).
int run_matrix(const MatrixRequest& request);

}  // namespace regatta
