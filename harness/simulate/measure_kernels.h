// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of a cell take on this machine: parts of its step run in the real executor,
// beside as many workers as share the process, with every exchange left out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta {

struct KernelMeasuring {
  const DataSet& data;
  std::vector<int> cores;      ///< of the run
  int threads_per_worker = 1;  ///< copies of a part run on what the cores have room for
  std::uint64_t seed = 1;
  std::int64_t steps = 10;  ///< of a round, behind two to warm up
  std::function<void(const std::string&)> tell;
};

struct MeasuredKernels {
  virtual_time::KernelCosts costs;  ///< means over steps and nodes
  std::vector<double> step_ns;      ///< of computing, of a worker of the first part that has some
};

/// Parts whose kernels others have, too, are left out. Throws: RunError.
MeasuredKernels measure_kernels(const std::vector<Step>& parts, const KernelMeasuring& options);

}  // namespace regatta
