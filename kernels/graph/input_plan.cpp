// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/input_plan.h"

#include <functional>
#include <numeric>
#include <string>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

InputSlice slice_of(const Attributes& attributes) {
  const bool sequential = attributes.has("sequential") && attributes.integer("sequential") != 0;
  return {.batch = attributes.integer("batch"),
          .offset = attributes.integer("offset"),
          .global_batch = attributes.integer("global_batch"),
          .order = sequential ? ExampleOrder::Sequential : ExampleOrder::Shuffled};
}

Augmentation augmentation_of(const Attributes& attributes, ExampleOrder order) {
  Augmentation result;
  result.mean = attributes.reals("mean");
  result.deviation = attributes.reals("deviation");
  if (order == ExampleOrder::Sequential) return result;
  result.pad = attributes.integer("pad");
  result.border = static_cast<Augmentation::Border>(attributes.integer("border"));
  result.flip = static_cast<Augmentation::Flip>(attributes.integer("flip"));
  result.cutout = attributes.integer("cutout");
  return result;
}

bool augments_images(const Augmentation& augmentation) {
  return augmentation.pad != 0 || augmentation.cutout != 0 ||
         augmentation.flip != Augmentation::Flip::None;
}

std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

[[noreturn]] void reject_data(const DataSet& data, const std::string& needs) {
  throw RunError(ErrorKind::Data, "data set '" + data.name + "' does not hold what the model's " +
                                      "input takes: " + needs);
}

void check_images(const DataSet& data, const std::vector<std::int64_t>& dims) {
  const std::vector<std::int64_t> held{data.side, data.side, data.channels};
  const auto bytes = static_cast<std::size_t>(data.count * product(held));
  if (dims != held || data.images.size() != bytes ||
      data.labels.size() != static_cast<std::size_t>(data.count)) {
    reject_data(
        data, "labelled images " + to_string(TensorType{.element = ElementType::U8, .dims = dims}));
  }
}

void check_augmentation(const DataSet& data, const Augmentation& augmentation) {
  const auto channels = static_cast<std::size_t>(data.channels);
  if (augmentation.mean.size() != channels || augmentation.deviation.size() != channels) {
    throw RunError(ErrorKind::Data, "an input of images has one mean and deviation a channel");
  }
  const std::int64_t pad = augmentation.pad, cutout = augmentation.cutout;
  if (pad < 0 || pad >= data.side || cutout < 0 || cutout > data.side) {
    throw RunError(ErrorKind::Usage, "an image of side " + std::to_string(data.side) +
                                         " allows no border of " + std::to_string(pad) +
                                         " pixels or no cutout of " + std::to_string(cutout));
  }
}

void check_features(const DataSet& data, std::int64_t features, std::int64_t targets) {
  if (data.features.size() != static_cast<std::size_t>(data.count * features) ||
      data.targets.size() != static_cast<std::size_t>(data.count * targets)) {
    reject_data(data, std::to_string(features) + " features and " + std::to_string(targets) +
                          " targets an example");
  }
}

}  // namespace

InputPlan::InputPlan(const Attributes& attributes, const DataSet* data_set,
                     std::uint64_t stream_seed)
    : data(data_set),
      seed(stream_seed),
      slice(slice_of(attributes)),
      example_elements(product(attributes.integers("example"))),
      target_elements(0),
      images(!attributes.has("targets")),
      augments(false) {
  if (data == nullptr) throw RunError(ErrorKind::Data, "the model has an input, but no data set");
  if (images) {
    check_images(*data, attributes.integers("example"));
    augmentation = augmentation_of(attributes, slice.order);
    check_augmentation(*data, augmentation);
    augments = augments_images(augmentation);
  } else {
    target_elements = attributes.integer("targets");
    check_features(*data, example_elements, target_elements);
  }
  if (slice.global_batch > data->count) {
    throw RunError(ErrorKind::Usage, "a global batch of " + std::to_string(slice.global_batch) +
                                         " examples is more than data set '" + data->name +
                                         "' has (" + std::to_string(data->count) +
                                         "); fix: use a smaller batch");
  }
  check(slice.offset >= 0 && slice.offset + slice.batch <= slice.global_batch,
        "an input's slice lies in the global batch");
}

AugmentationRanges InputPlan::ranges() const {
  return {.side = data->side,
          .pad = augmentation.pad,
          .cutout = augmentation.cutout,
          .flip = static_cast<int>(augmentation.flip)};
}

}  // namespace regatta
