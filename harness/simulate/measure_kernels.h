// SPDX-License-Identifier: Apache-2.0
//
// Measures the kernels of a cell on this machine: parts of its step run in the real executor,
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
  int threads_per_worker = 1;  ///< a part runs in as many copies as there are cores for
  std::uint64_t seed = 1;
  std::int64_t steps = 10;  ///< per round, after two to warm up
  std::function<void(const std::string&)> tell;
};

struct MeasuredKernels {
  virtual_time::KernelCosts costs;  ///< means over steps and nodes
  std::vector<double> step_ns;      ///< compute times of workers, from the first part that has any
};

/// Measures each distinct kernel once: a part without a new one is skipped. Throws: RunError.
MeasuredKernels measure_kernels(const std::vector<Step>& parts, const KernelMeasuring& options);

}  // namespace regatta
