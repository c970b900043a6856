// SPDX-License-Identifier: Apache-2.0
#include "kernels/data/input_plan.h"

#include <iterator>
#include <string>

#include "kernels/base/error.h"

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

ElementType element_of(const ExampleTensors& tensors) {
  constexpr ElementType kElements[] = {ElementType::F32, ElementType::U8, ElementType::I32};
  return kElements[tensors.values.index()];
}

/// Checks that the data set has a tensor of this type for each example.
void require_type(const DataSet& data, const ExampleTensors& held, const TensorType& taken,
                  const std::string& part) {
  const std::int64_t bytes = data.count * taken.bytes();
  if (held.dims == taken.dims && element_of(held) == taken.element &&
      std::ssize(held.bytes()) == bytes) {
    return;
  }
  throw RunError(ErrorKind::Data, "data set '" + data.name + "' does not hold what the model's " +
                                      "input takes: " + part + " " + to_string(taken) +
                                      " for each example");
}

void check_augmentation(const DataSet& data, const Augmentation& augmentation) {
  const std::int64_t side = data.inputs.dims[0];
  const auto channels = static_cast<std::size_t>(data.inputs.dims.back());
  if (augmentation.mean.size() != channels || augmentation.deviation.size() != channels) {
    throw RunError(ErrorKind::Data, "an input of images has one mean and deviation a channel");
  }
  const std::int64_t pad = augmentation.pad, cutout = augmentation.cutout;
  if (pad < 0 || pad >= side || cutout < 0 || cutout > side) {
    throw RunError(ErrorKind::Usage, "an image of side " + std::to_string(side) +
                                         " allows no border of " + std::to_string(pad) +
                                         " pixels or no cutout of " + std::to_string(cutout));
  }
}

}  // namespace

InputPlan::InputPlan(const Attributes& attributes, const DataSet* data_set,
                     std::uint64_t stream_seed)
    : data(data_set),
      seed(stream_seed),
      slice(slice_of(attributes)),
      images(attributes.has("mean")),
      augments(false) {
  if (data == nullptr) throw RunError(ErrorKind::Data, "the model has an input, but no data set");
  const auto yielded = static_cast<ElementType>(attributes.integer("element"));
  const ElementType held = images                         ? ElementType::U8
                           : yielded == ElementType::BF16 ? ElementType::F32
                                                          : yielded;
  require_type(*data, data->inputs, {held, attributes.integers("example")}, "inputs");
  require_type(*data, data->targets,
               {static_cast<ElementType>(attributes.integer("target_element")),
                attributes.integers("target")},
               "targets");
  if (images) {
    augmentation = augmentation_of(attributes, slice.order);
    check_augmentation(*data, augmentation);
    augments = augments_images(augmentation);
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
  return {.side = side(),
          .pad = augmentation.pad,
          .cutout = augmentation.cutout,
          .flip = static_cast<int>(augmentation.flip)};
}

}  // namespace regatta
