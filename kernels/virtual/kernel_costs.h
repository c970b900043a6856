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

/// `convolution 32x16x16x64f32 64x3x3x64f32 -> 32x16x16x64f32 pad=1 1t`. Nodes of one key take the
/// same time.
std::string kernel_key(const Graph& graph, NodeId id, int threads);

/// Whether the node computes: it is neither a view nor communication.
bool computes(const Graph& graph, const Node& node);

using KernelCosts = std::map<std::string, double, std::less<>>;  ///< by kernel_key(): a run's time

}  // namespace regatta::virtual_time
