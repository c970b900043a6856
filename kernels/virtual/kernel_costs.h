// SPDX-License-Identifier: Apache-2.0
//
// What kernels take: measured, or written by hand. A kernel is known by its op, its shapes and
// types, what its attributes say of its work, and the threads it runs on. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/graph/graph.h"

namespace regatta::virtual_time {

/// `convolution 32x16x16x64f32 64x3x3x64f32 -> 32x16x16x64f32 kernel=3 padding=1 stride=1 1t`.
/// Nodes of one key take the same time.
std::string kernel_key(const Graph& graph, NodeId id, int threads);

/// The threads of a process' lanes: `threads_per_worker`, or one where there is no worker.
int lane_threads(const Graph& part, int threads_per_worker);

/// Whether a lane spends a kernel's time on the node.
bool computes(const Graph& graph, const Node& node);

using KernelCosts = std::map<std::string, double, std::less<>>;  ///< by kernel_key(): a run's time

}  // namespace regatta::virtual_time
