// SPDX-License-Identifier: Apache-2.0
//
// The examples that an input node yields in a step. They are a pure function of the data set, the
// node's attributes, the seed and the step, and so the same on every device.
//   steps of an epoch = count / global batch (an incomplete last batch is left out);
//   shuffled: order[(step % steps) * global_batch + offset …] of the epoch's order;
//   sequential (evaluation): the same positions of the data set itself, without augmentation.
#pragma once

#include <cstdint>

#include "kernels/data/augmentation_draw.h"
#include "kernels/data/data_set.h"
#include "kernels/graph/attributes.h"
#include "kernels/graph/builder.h"

namespace regatta {

/// Computes the position of the slice of examples that an input node yields in a step. constexpr,
/// because GPU kernels compute it too.
struct SlicePosition {
  std::int64_t steps_per_epoch = 1;
  std::int64_t global_batch = 0;
  std::int64_t offset = 0;
  bool constant = false;  ///< every step yields the same examples

  constexpr std::int64_t epoch_of(std::int64_t step) const {
    return constant ? 0 : step / steps_per_epoch;
  }
  /// Returns the position of the slice's first example in the epoch's order (shuffled) or in the
  /// data set (sequential).
  constexpr std::int64_t first_of(std::int64_t step) const {
    return step % steps_per_epoch * global_batch + offset;
  }
};

struct InputPlan {
  /// Throws: RunError(Data) if the data set does not match the node; RunError(Usage) if it has
  /// fewer examples than a global batch or its images do not allow the augmentation.
  InputPlan(const Attributes& attributes, const DataSet* data_set, std::uint64_t stream_seed);

  /// Whether every step yields the same examples: the global batch is the whole data set, without
  /// augmentation. All steps then use the order of epoch 0, so that each replica still gets a
  /// random share.
  bool is_constant() const { return slice.global_batch == data->count && !augments; }
  bool is_shuffled() const { return slice.order == ExampleOrder::Shuffled; }
  SlicePosition position() const {
    return {.steps_per_epoch = data->count / slice.global_batch,
            .global_batch = slice.global_batch,
            .offset = slice.offset,
            .constant = is_constant()};
  }
  AugmentationRanges ranges() const;

  /// Returns the side of an image in pixels, and the number of its channels.
  std::int64_t side() const { return data->inputs.dims[0]; }
  std::int64_t channels() const { return data->inputs.dims[2]; }

  const DataSet* data;
  std::uint64_t seed;
  InputSlice slice;
  bool images;  ///< inputs are images, to be augmented and normalised; else they are unchanged
  /// Only for images; in sequential order, only mean and deviation are set.
  Augmentation augmentation;
  bool augments;
};

}  // namespace regatta
