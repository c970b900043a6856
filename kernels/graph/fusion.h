// SPDX-License-Identifier: Apache-2.0
//
// The parts of a fused op besides its normalisation or bias, stored as attributes of its node.
// fuse() writes them; the op's rules and kernels read them.
#pragma once

#include <cstdint>

#include "kernels/graph/attributes.h"

namespace regatta {

/// The parts are computed in this order: pool, normalise, activate, pool.
struct Fusion {
  enum class Activation : std::uint8_t { None, Relu, Gelu };
  /// Position of a max_pool: before the normalisation or after the activation.
  enum class Pool : std::uint8_t { None, Before, After };

  Activation activation = Activation::None;
  Pool pool = Pool::None;
  /// Side and stride of the pool's windows, which do not overlap. Units: pixels.
  std::int64_t window = 1;
};

/// Reads the attributes; missing ones take their defaults.
Fusion fusion_of(const Attributes& attributes);

/// Sets the attributes that differ from their defaults.
void set_fusion(Attributes& attributes, const Fusion& fusion);

}  // namespace regatta
