// SPDX-License-Identifier: Apache-2.0
//
// parabola: 1 → 5 tanh → 1 learns y = x² from 50 points, on the full batch. The classic first
// example of distributed training: a step takes microseconds, so it shows the cost of a strategy.
#pragma once

#include "workloads/workload.h"

namespace regatta {

Workload parabola();

}  // namespace regatta
