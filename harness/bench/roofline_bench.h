// SPDX-License-Identifier: Apache-2.0
//
// The roofline of a kernel: the least time for its products at the device's measured peak for their
// element type (for bf16, of the tensor cores), and the least time for its bytes at the measured
// peak of the memory bus.
//   bound = max(flop / peak flop/s, bytes / peak bytes/s); its limit is the larger of the two
//   efficiency = bound / time; a kernel with at least kNearShare is at its limit
// Only products of matrices and convolutions count flop, 2 per multiply-add, as direct sums. Bytes
// are those of a kernel's inputs and outputs, and of its variables, which an update moves twice:
// the least that it must move. Data left in a cache by the previous kernel may raise the efficiency
// above 1.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// A kernel that reaches this share of a measured peak is at that limit.
inline constexpr double kNearShare = 0.6;

/// The work of a kernel.
struct KernelLoad {
  ElementType element = ElementType::F32;  ///< of its products
  double flop = 0;
  double bytes = 0;
};
KernelLoad load_of(const Graph& graph, NodeId id);

/// The device's peaks. Units: per second.
struct Peaks {
  std::map<ElementType, double> flop;  ///< by the element type of products
  double bytes = 0;
};

enum class Limit : std::uint8_t { Products, Memory };

/// Returns `tensor cores`, `f32 products` or `memory bus`.
std::string name_of(Limit limit, ElementType element);

struct Roof {
  double bound_ms = 0;
  Limit limit = Limit::Memory;
  double efficiency = 0;
  bool is_near() const { return efficiency >= kNearShare; }
};
Roof roof_of(const KernelLoad& load, double ms, const Peaks& peaks);

/// The sizes of the measured product and of the moved tensors.
struct PeakSizes {
  std::int64_t side = 8192;            ///< of square matrices
  std::int64_t elements = 64'000'000;  ///< f32, in each of three tensors
};

/// Measures the peaks, each as the fastest of several rounds: of products by the kernel of dense
/// for each element type; of bytes by the kernel of add or a copy in the queue, whichever is
/// faster.
Peaks measure_peaks(Device& device, const KernelTable& kernels,
                    const std::set<ElementType>& elements, const PeakSizes& sizes);

}  // namespace regatta
