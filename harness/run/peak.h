// SPDX-License-Identifier: Apache-2.0
//
// The peak speed of a run's hardware, to which model FLOPs utilisation relates a run's speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/graph/tensor_type.h"

namespace regatta::run {

struct Peak {
  double flops_per_s = 0;
  std::string of;  ///< UtilizationRecord::peak_of
};

/// Returns the peak of products without sparsity on a GPU of this name, as the driver gives it;
/// empty for a GPU that is not in the table. Products of f32 do not use TF32.
/// Source: NVIDIA's data sheets of A100, H100 and H200.
std::optional<Peak> peak_of_gpu(std::string_view name, ElementType element);

/// Measures the peak of `cores` cores together, with a thread for each: the best of the CPU
/// kernel's products [512 cores, 1024] x [1024, 1024] in 40 ms, at least one. Later calls with the
/// same element type and number of cores return the first result. Threads: one at a time.
Peak measured_peak(ElementType element, int cores);

}  // namespace regatta::run
