// SPDX-License-Identifier: Apache-2.0
//
// The peak speed of a run's hardware, to which model FLOPs utilisation relates a run's speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Measures the peak of all these cores together, with a thread for each: the best of the CPU
/// kernel's products of n cores, [256 n, 512] x [512, 512], in 60 ms behind 20 ms of warm-up.
/// Returns the highest so far for the element type and cores: while other programs use the cores, a
/// result is too low. Threads: one at a time.
Peak measured_peak(ElementType element, const std::vector<int>& cores);

/// Measures the memory bandwidth of all these cores together: the best of several copies of 64 MB
/// a core, read and written. Units: bytes/s. Threads: one at a time.
double measured_bandwidth(const std::vector<int>& cores);

}  // namespace regatta::run
