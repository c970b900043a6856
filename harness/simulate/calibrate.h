// SPDX-License-Identifier: Apache-2.0
//
// `regatta calibrate`: measures the costs of a cell's kernels and of messages on this machine, as a
// file for clusters (cluster_file.h).
#pragma once

#include <cstdint>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/output_file.h"

namespace regatta {

struct CalibrateRequest {
  std::string out = "calibration.json";
  IfThere if_there = IfThere::Refuse;
  std::int64_t threads = 1;  ///< per worker
  std::string messages;      ///< an earlier calibration's messages to use; empty: none
};

/// Creates the file's folder if it is missing. Throws: RunError.
void run_calibrate(const RaceRequest& request, const CalibrateRequest& wanted);

}  // namespace regatta
