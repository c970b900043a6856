// SPDX-License-Identifier: Apache-2.0
//
// Measures the kernels of a cell on this machine: runs the parts of the cell's step in the real
// executor, without exchanges, in as many copies at once as there are cores for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/data/data_set.h"
#include "kernels/graph/graph.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta::simulate {

struct KernelMeasuring {
  const DataSet& data;
  std::vector<int> cores;      ///< the cores that the run may use
  int threads_per_worker = 1;  ///< determines for how many copies of a part `cores` suffice
  std::uint64_t seed = 1;
  std::int64_t steps = 10;  ///< measured in each round, after two warm-up steps
  int rounds = 3;           ///< each begins with the initial weights
  std::function<void(const std::string&)> tell;
};

struct MeasuredKernels {
  virtual_time::KernelCosts costs;  ///< means over steps and nodes
  std::vector<double> step_ns;      ///< compute times of the workers in the first part that has any
};

/// Measures the kernels of `parts`, the steps of a run's processes, in addition to those measured
/// before. Skips a part if all its kernels are known. Throws: RunError.
MeasuredKernels measure_kernels(const std::vector<Step>& parts, const KernelMeasuring& options,
                                MeasuredKernels measured = {});

}  // namespace regatta::simulate
