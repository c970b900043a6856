// SPDX-License-Identifier: Apache-2.0
//
// Which examples an input node yields at a step, and what they look like: a pure function of the
// data set, the node's attributes, the seed and the step.
//   steps of an epoch = count / global batch (an incomplete last batch is left out);
//   shuffled: order[(step % steps) * global_batch + offset …] of the epoch's order;
//   sequential (evaluation): the same positions of the data set itself, without augmentation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/augmentation.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/data_set.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

struct BatchPlan {
  /// Throws: RunError(Data) where the data set is not what the node needs, RunError(Usage) where
  /// it has fewer examples than a global batch.
  explicit BatchPlan(const KernelRequest& request);

  /// True when every step yields the same examples: a full batch, without augmentation. Their order
  /// is that of epoch 0 throughout, so that replicas still get a random share of them each.
  bool is_constant() const;
  std::int64_t steps_per_epoch() const { return data->count / slice.global_batch; }

  const DataSet* data;
  std::uint64_t seed;
  InputSlice slice;
  std::int64_t example_elements;          ///< f32 values an example
  std::int64_t target_elements;           ///< features only: f32 values a target
  std::optional<ImagePipeline> pipeline;  ///< images only
  bool augments;
};

/// The order of one epoch, kept from one batch to the next.
struct EpochOrder {
  std::int64_t epoch = -1;
  std::vector<std::int32_t> order;
};

/// Shapes: examples [batch, ...] f32; targets [batch, targets] f32 or labels [batch] i32.
struct BatchView {
  float* examples = nullptr;
  void* targets = nullptr;
};

/// Prepares the batch of `step`. `order` is a cache: its contents do not change the result.
void fill_batch(const BatchPlan& plan, std::int64_t step, EpochOrder& order,
                const BatchView& target);

}  // namespace regatta::cpu
