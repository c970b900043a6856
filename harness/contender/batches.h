// SPDX-License-Identifier: Apache-2.0
//
// The examples that a step's input node yields, by the node's own kernel: the very bits that the
// model reads, augmented and normalised if they are images. Values in bf16 are widened to f32.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/contender/safetensors.h"
#include "kernels/data/input_plan.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta::contender {

class Batches {
 public:
  /// `step` has one input node, and `kernels` are a CPU's. `data` outlives this object.
  Batches(const Step& step, const KernelTable& kernels, const DataSet& data, std::uint64_t seed);

  /// The tensors of `steps` batches: images and labels, tokens and targets, or x and y; in training
  /// `example`, too, the examples' numbers in the data set.
  std::vector<TensorEntry> entries(std::int64_t steps) const;
  /// Writes a file of entries(steps). Returns the SHA-256 of the examples' numbers.
  std::string write(const std::filesystem::path& path, std::int64_t steps);

 private:
  struct alignas(64) Line {  ///< tensors are aligned
    std::array<std::byte, 64> bytes;
  };

  std::vector<std::int64_t> examples_of(std::int64_t step);

  Node node_;
  InputPlan plan_;
  std::vector<std::vector<Line>> memory_;  ///< by output
  std::vector<Tensor> outputs_;
  std::int64_t epoch_ = -1;
  std::vector<std::int32_t> order_;  ///< order of the epoch's examples
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace regatta::contender
