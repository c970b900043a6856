// SPDX-License-Identifier: Apache-2.0
//
// `regatta calibrate`: what the kernels of a cell and messages cost on this machine, as a file for
// clusters (cluster_file.h).
#pragma once

#include <cstdint>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/output_file.h"

namespace regatta {

struct CalibrateRequest {
  std::string out = "calibration.json";
  IfThere if_there = IfThere::Refuse;
  std::int64_t threads = 1;  ///< of a worker
  std::string messages;      ///< a calibration, made here, whose messages are taken; empty: none
};

/// Creates the file's folder where it is missing. Throws: RunError.
void run_calibrate(const RaceRequest& request, const CalibrateRequest& wanted);

}  // namespace regatta
