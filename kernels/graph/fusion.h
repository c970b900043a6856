// SPDX-License-Identifier: Apache-2.0
//
// What a fused op holds besides its first part (normalisation or bias), as attributes of its node.
// Written by fuse.h's rewrite, read by the op's rules and by kernels.
#pragma once

#include <cstdint>

#include "kernels/graph/attributes.h"

namespace regatta {

/// In the order in which they are computed: pool, normalise, activate, pool.
struct Fusion {
  enum class Activation : std::uint8_t { None, Relu, Gelu };
  /// Where a max_pool stands: before the normalisation or after the activation.
  enum class Pool : std::uint8_t { None, Before, After };

  Activation activation = Activation::None;
  Pool pool = Pool::None;
  /// Side and stride of the pool's windows: they do not overlap. Units: pixels.
  std::int64_t window = 1;
};

/// An attribute that is missing is its default.
Fusion fusion_of(const Attributes& attributes);

/// Adds what is not a default.
void set_fusion(Attributes& attributes, const Fusion& fusion);

}  // namespace regatta
