// SPDX-License-Identifier: Apache-2.0
//
// For tests of the input op: small data sets with labels that identify the examples, augmentations,
// and an input with its kernel.
#pragma once

#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/batch.h"
#include "kernels/cpu/test_support.h"
#include "kernels/graph/builder.h"

namespace regatta::cpu::test {

inline constexpr std::uint64_t kSeed = 11;
inline constexpr std::int64_t kSide = 9, kChannels = 3;

/// Random images; the label of an image is its index.
inline DataSet images(std::int64_t count) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * kSide * kSide * kChannels));
  std::mt19937 generator(5);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(generator() % 256);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
  std::iota(labels.begin(), labels.end(), 0);
  return {.name = "images",
          .count = count,
          .inputs = {{kSide, kSide, kChannels}, std::move(pixels)},
          .targets = {{}, std::move(labels)}};
}

/// A data set in which example i has the features i and i + 1/2 and the target -i.
inline DataSet features(std::int64_t count) {
  DataSet data{.name = "features", .count = count, .inputs = {{2}}, .targets = {{1}}};
  for (std::int64_t i = 0; i < count; ++i) {
    data.inputs.as<float>().push_back(static_cast<float>(i));
    data.inputs.as<float>().push_back(static_cast<float>(i) + 0.5F);
    data.targets.as<float>().push_back(-static_cast<float>(i));
  }
  return data;
}

/// A data set of texts of three tokens, each followed by its next token: example i is i, i + 1,
/// i + 2 and its target i + 1, i + 2, i + 3.
inline DataSet tokens(std::int32_t count) {
  std::vector<std::int32_t> inputs, targets;
  for (std::int32_t i = 0; i < count; ++i) {
    for (std::int32_t t = 0; t < 3; ++t) {
      inputs.push_back(i + t);
      targets.push_back(i + t + 1);
    }
  }
  return {.name = "tokens",
          .count = count,
          .inputs = {{3}, std::move(inputs)},
          .targets = {{3}, std::move(targets)}};
}

inline Augmentation plain() {
  Augmentation augmentation;
  augmentation.mean = {120, 121, 122};
  augmentation.deviation = {60, 61, 62};
  return augmentation;
}

inline Augmentation everything() {
  Augmentation augmentation = plain();
  augmentation.pad = 2;
  augmentation.flip = Augmentation::Flip::Random;
  augmentation.cutout = 3;
  return augmentation;
}

/// An input node, its kernel and the memory that it writes.
class InputOp {
 public:
  InputOp(const DataSet* data, const InputSlice& slice, const Augmentation& augmentation)
      : data_(data) {
    Builder builder(graph_);
    builder.input_images(slice, {ElementType::U8, {kSide, kSide, kChannels}}, augmentation);
    add_outputs();
  }
  InputOp(const DataSet* data, const InputSlice& slice) : data_(data) {
    Builder builder(graph_);
    builder.input_features(slice, 2, 1);
    add_outputs();
  }

  /// An input of tokens(), and their next tokens.
  static InputOp of_tokens(const DataSet* data, const InputSlice& slice) {
    InputOp op(data);
    Builder builder(op.graph_);
    builder.input(slice, {ElementType::I32, {3}}, {ElementType::I32, {3}});
    op.add_outputs();
    return op;
  }

  KernelRequest request() const {
    return {.node = graph_.node(0),
            .inputs = {},
            .outputs = tensors_,
            .variables = {},
            .versions_seen = {},
            .data = data_,
            .seed = kSeed};
  }
  std::unique_ptr<Kernel> build() const { return cpu_table().build(request()); }

  /// Prepares the batch of a step directly, without the kernel.
  void fill(std::int64_t step) {
    EpochOrder order;
    fill_batch(BatchPlan(request()), step, order,
               {.examples = outputs_[0].bytes.get(), .targets = outputs_[1].bytes.get()});
  }
  std::vector<std::int32_t> labels() const {
    const auto* first = outputs_[1].tensor().as<std::int32_t>();
    return {first, first + outputs_[1].type.elements()};
  }
  const std::vector<Array>& outputs() const { return outputs_; }

 private:
  explicit InputOp(const DataSet* data) : data_(data) {}

  void add_outputs() {
    for (const TensorType& type : graph_.node(0).outputs) outputs_.emplace_back(type);
    for (const Array& output : outputs_) tensors_.push_back(output.tensor());
  }

  const DataSet* data_;
  Graph graph_;
  std::vector<Array> outputs_;
  std::vector<Tensor> tensors_;
};

}  // namespace regatta::cpu::test
