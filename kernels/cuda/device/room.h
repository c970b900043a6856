// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace regatta::cuda {

/// Checks that the current GPU has `bytes` free plus a reserve. Called before each allocation.
/// Units: bytes. Throws: RunError(Device) that names a remedy.
void check_room(std::size_t bytes);

}  // namespace regatta::cuda
