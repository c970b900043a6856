// SPDX-License-Identifier: Apache-2.0
//
// What limits a kernel: the least time that its products take at the device's measured peak for
// their element type (of bf16: that of the tensor cores), or the least time that its bytes take at
// the measured peak of the memory bus.
//   bound = max(flop / peak flop/s, bytes / peak bytes/s); its limit is the larger of the two
//   efficiency = bound / time; a kernel with at least kNearShare is at its limit
// Of flop only products of matrices and convolutions are counted, 2 a multiply-add, as direct sums;
// bytes are those of its inputs and outputs, and of its variables, which an update moves twice. So
// bytes are what it moves at least; what a cache has kept of the kernel before may make its
// efficiency larger than 1.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// From this share of a measured peak on it counts as the limit.
inline constexpr double kNearShare = 0.6;

/// What a kernel has to do.
struct KernelLoad {
  ElementType element = ElementType::F32;  ///< of its products
  double flop = 0;
  double bytes = 0;
};
KernelLoad load_of(const Graph& graph, NodeId id);

/// What the device does at most. Units: per second.
struct Peaks {
  std::map<ElementType, double> flop;  ///< by the element type of products
  double bytes = 0;
};

enum class Limit : std::uint8_t { Products, Memory };

/// `tensor cores`, `f32 products`, `memory bus`.
std::string name_of(Limit limit, ElementType element);

struct Roof {
  double bound_ms = 0;
  Limit limit = Limit::Memory;
  double efficiency = 0;
  bool is_near() const { return efficiency >= kNearShare; }
};
Roof roof_of(const KernelLoad& load, double ms, const Peaks& peaks);

/// How large the measured product and the moved tensors are.
struct PeakSizes {
  std::int64_t side = 8192;            ///< of square matrices
  std::int64_t elements = 64'000'000;  ///< f32, in each of three tensors
};

/// Measured by the project's own kernels of dense, for each element type, and of add, and by a copy
/// in the queue: the fastest of some runs, and of the last two the faster.
Peaks measure_peaks(Device& device, const KernelTable& kernels,
                    const std::set<ElementType>& elements, const PeakSizes& sizes);

}  // namespace regatta
