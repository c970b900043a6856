// SPDX-License-Identifier: Apache-2.0
//
// Prepares the examples that an input node yields at a step (kernels/data/input_plan.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/augmentation.h"
#include "kernels/data/input_plan.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

/// An input plan, with the CPU's image pipeline.
struct BatchPlan : InputPlan {
  explicit BatchPlan(const KernelRequest& request);

  std::optional<ImagePipeline> pipeline;  ///< empty unless the examples are images
};

/// The example order of one epoch, kept between batches.
struct EpochOrder {
  std::int64_t epoch = -1;
  std::vector<std::int32_t> order;
};

/// Memory that receives a batch: images as f32, other inputs and targets as the data set has them.
struct BatchView {
  void* examples = nullptr;
  void* targets = nullptr;
};

/// Writes the batch of `step` to `target`. `order` is a cache and does not affect the result.
/// Returns the sum of the examples' digests (kernels/data/data_order.h), not multiplied by the
/// step's weight.
std::uint64_t fill_batch(const BatchPlan& plan, std::int64_t step, EpochOrder& order,
                         const BatchView& target);

}  // namespace regatta::cpu
