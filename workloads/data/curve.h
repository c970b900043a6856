// SPDX-License-Identifier: Apache-2.0
//
// The data set `curve` for the workload parabola: y = x² at 50 equally spaced points from -2 to 2,
// both included:
//   x[i] = (4 i - 98) / 49,  y[i] = x[i]²,  each rounded once to float.
#pragma once

#include "kernels/data/data_set.h"

namespace regatta::workloads {

/// Makes the data set. Shapes: features [50, 1], targets [50, 1].
DataSet make_curve();

}  // namespace regatta::workloads
