// SPDX-License-Identifier: Apache-2.0
//
// The workload parabola: a network of 1 input, 5 tanh units and 1 output learns y = x² from 50
// points, all in every batch. A step takes microseconds, so the workload shows the time that a
// strategy adds to a step.
#pragma once

#include "workloads/workload.h"

namespace regatta::workloads {

Workload parabola();

}  // namespace regatta::workloads
