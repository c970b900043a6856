// SPDX-License-Identifier: Apache-2.0
//
// Times of kernels, measured or written by hand. A kernel's key consists of its op, its shapes and
// types, the attributes that determine its work, and its threads. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/graph/graph.h"

namespace regatta::virtual_time {

/// Returns the key of a node's kernel, such as
/// `convolution 32x16x16x64f32 64x3x3x64f32 -> 32x16x16x64f32 kernel=3 padding=1 stride=1 1t`.
/// Nodes with equal keys take the same time.
std::string kernel_key(const Graph& graph, NodeId id, int threads);

/// Returns the number of threads of each lane in the process that runs `part`:
/// `threads_per_worker`, or 1 if the process has no worker.
int lane_threads(const Graph& part, int threads_per_worker);

/// Whether a lane spends kernel time on the node.
bool computes(const Graph& graph, const Node& node);

using KernelCosts = std::map<std::string, double, std::less<>>;  ///< one run's time, by key

}  // namespace regatta::virtual_time
