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
  DataSet data{.name = "images", .count = count, .side = kSide, .channels = kChannels};
  std::mt19937 generator(5);
  for (std::int64_t i = 0; i < count * kSide * kSide * kChannels; ++i) {
    data.images.push_back(static_cast<std::uint8_t>(generator() % 256));
  }
  data.labels.resize(static_cast<std::size_t>(count));
  std::iota(data.labels.begin(), data.labels.end(), 0);
  return data;
}

/// A data set in which example i has the features i and i + 1/2 and the target -i.
inline DataSet features(std::int64_t count) {
  DataSet data{.name = "features", .count = count};
  for (std::int64_t i = 0; i < count; ++i) {
    data.features.push_back(static_cast<float>(i));
    data.features.push_back(static_cast<float>(i) + 0.5F);
    data.targets.push_back(-static_cast<float>(i));
  }
  return data;
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
               {.examples = outputs_[0].f32(), .targets = outputs_[1].bytes.get()});
  }
  std::vector<std::int32_t> labels() const {
    const auto* first = outputs_[1].tensor().as<std::int32_t>();
    return {first, first + outputs_[1].type.elements()};
  }
  const std::vector<Array>& outputs() const { return outputs_; }

 private:
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
