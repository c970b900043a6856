// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace regatta::cuda {

/// Managed memory may exceed the GPU's, and what is not managed drives it out: then pages wander at
/// every step, never a fair race. Before each allocation on the current GPU.
/// Units: bytes. Throws: RunError(Device) that says what to do.
void check_room(std::size_t bytes);

}  // namespace regatta::cuda
