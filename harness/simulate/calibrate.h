// SPDX-License-Identifier: Apache-2.0
//
// `regatta calibrate`: measures the costs of a cell's kernels and of messages on this machine, and
// writes them to a calibration file (calibration.h) for a cluster's file (cluster_file.h).
#pragma once

#include <cstdint>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/output_file.h"

namespace regatta::simulate {

struct CalibrateRequest {
  enum class Cells { One, Compared };
  Cells cells = Cells::One;  ///< Compared: all that `regatta plan` compares
  std::string out = "calibration.json";
  system::IfThere if_there = system::IfThere::Refuse;
  std::int64_t threads = 1;  ///< threads per worker
  std::string messages;      ///< path of a calibration whose message costs are used; empty: measure
};

/// Measures and writes the file, whose folder is created if it is missing. Throws: RunError.
void run_calibrate(const plan::RaceRequest& request, const CalibrateRequest& wanted);

}  // namespace regatta::simulate
