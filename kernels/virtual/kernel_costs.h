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

/// The key of a node's kernel, such as
/// `convolution 32x16x16x64f32 64x3x3x64f32 -> 32x16x16x64f32 kernel=3 padding=1 stride=1 1t`.
/// Nodes of one key take the same time.
std::string kernel_key(const Graph& graph, NodeId id, int threads);

/// The threads of a process's lanes: `threads_per_worker`, or one if it has no worker.
int lane_threads(const Graph& part, int threads_per_worker);

/// Whether a lane spends kernel time on the node.
bool computes(const Graph& graph, const Node& node);

using KernelCosts = std::map<std::string, double, std::less<>>;  ///< by kernel_key(): a run's time

}  // namespace regatta::virtual_time
