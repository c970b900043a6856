// SPDX-License-Identifier: Apache-2.0
//
// Workloads whose models are made narrow, so that a test can train them in seconds: an eighth
// to a half of the channels, and small groups of normalisation. The table of workloads has none.
#pragma once

#include "workloads/workload.h"

namespace regatta::testing_support {

Workload resnet9_narrow();  ///< of 4 examples a group
Workload airbench94_narrow();
Workload mobilenet_v2_narrow();
Workload mobilenet_v2_full_narrow();

}  // namespace regatta::testing_support
