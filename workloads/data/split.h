// SPDX-License-Identifier: Apache-2.0
//
// The two parts of a data set: for training and for evaluation.
#pragma once

#include <cstdint>

#include "kernels/data/data_set.h"

namespace regatta::workloads {

enum class Split { Train, Test };

struct DataSets {
  DataSet train;
  DataSet test;
};

/// The number of examples of each part.
struct DataSetSizes {
  std::int64_t train = 0;
  std::int64_t test = 0;
};

}  // namespace regatta::workloads
