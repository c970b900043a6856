// SPDX-License-Identifier: Apache-2.0
//
// The roofline of a kernel: the least time for its products at the device's measured peak for their
// element type (for bf16, of the tensor cores), and the least time for its bytes at the measured
// peak of the memory bus.
//   bound = max(flop / peak flop/s, bytes / peak bytes/s); its limit is the larger of the two
//   efficiency = bound / time; a kernel with at least kNearShare is at its limit
// Flop and bytes are those of kernels/virtual/kernel_load.h. The efficiency may exceed 1 if data is
// still in a cache from the previous kernel.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/virtual/kernel_load.h"

namespace regatta::bench {

/// A kernel that reaches at least this share of a measured peak is at that limit.
inline constexpr double kNearShare = 0.6;

using virtual_time::KernelLoad;
using virtual_time::load_of;

/// The device's measured peaks. Units: flop/s and bytes/s.
struct Peaks {
  std::map<ElementType, double> flop;  ///< for products of each element type
  double bytes = 0;
};

enum class Limit : std::uint8_t { Products, Memory };

/// The name of the limit in reports: `tensor cores`, `f32 products` or `memory bus`.
std::string name_of(Limit limit, ElementType element);

struct Roof {
  double bound_ms = 0;
  Limit limit = Limit::Memory;
  double efficiency = 0;
  bool is_near() const { return efficiency >= kNearShare; }
};
Roof roof_of(const KernelLoad& load, double ms, const Peaks& peaks);

/// The sizes of the matrix product and of the tensors with which peaks are measured.
struct PeakSizes {
  std::int64_t side = 8192;            ///< rows and columns of the matrices
  std::int64_t elements = 64'000'000;  ///< f32 elements in each of three tensors
};

/// Measures the peaks, each as the best of several rounds: flop/s with the kernel of dense for each
/// of `elements`; bytes/s with the kernel of add or a copy in the queue, whichever is faster.
Peaks measure_peaks(Device& device, const KernelTable& kernels,
                    const std::set<ElementType>& elements, const PeakSizes& sizes);

}  // namespace regatta::bench
