// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch.h"

#include <cstddef>
#include <cstring>

#include "kernels/data/data_order.h"

namespace regatta::cpu {
namespace {

void prepare_order(const BatchPlan& plan, std::int64_t epoch, EpochOrder& order) {
  if (order.epoch == epoch) return;
  order.order.resize(static_cast<std::size_t>(plan.data->count));  // allocates only the first time
  draw_example_order(plan.seed, epoch, order.order);
  order.epoch = epoch;
}

AugmentationDraw fill_image(const BatchPlan& plan, std::int64_t epoch, std::int64_t example,
                            float* target) {
  const ExampleTensors& inputs = plan.data->inputs;
  const std::uint8_t* image = inputs.as<std::uint8_t>().data() + example * inputs.elements();
  const AugmentationDraw draw = plan.augments
                                    ? draw_augmentation(plan.seed, epoch, example, plan.ranges())
                                    : AugmentationDraw{};
  plan.pipeline->prepare(image, draw, target);
  return draw;
}

/// Copies an example's values to place `i` of `to`.
void copy_example(const DataSet& data, const ExampleTensors& from, std::int64_t example, void* to,
                  std::int64_t i) {
  const auto bytes = from.bytes().size() / static_cast<std::size_t>(data.count);
  std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(i) * bytes,
              from.bytes().data() + static_cast<std::size_t>(example) * bytes, bytes);
}

}  // namespace

BatchPlan::BatchPlan(const KernelRequest& request)
    : InputPlan(request.node.attributes, request.data, request.seed) {
  if (images) pipeline.emplace(ImagePipeline::Shape{side(), channels()}, augmentation);
}

std::uint64_t fill_batch(const BatchPlan& plan, std::int64_t step, EpochOrder& order,
                         const BatchView& target) {
  std::uint64_t digest = 0;
  const SlicePosition position = plan.position();
  const std::int64_t epoch = position.epoch_of(step), first = position.first_of(step);
  if (plan.is_shuffled()) prepare_order(plan, epoch, order);
  for (std::int64_t i = 0; i < plan.slice.batch; ++i) {
    const std::int64_t example =
        plan.is_shuffled() ? order.order[static_cast<std::size_t>(first + i)] : first + i;
    const std::int64_t place = position.offset + i;
    if (plan.images) {
      float* pixels = static_cast<float*>(target.examples) + i * plan.data->inputs.elements();
      digest += order_digest(place, example, fill_image(plan, epoch, example, pixels));
    } else {
      copy_example(*plan.data, plan.data->inputs, example, target.examples, i);
      digest += order_digest(place, example);
    }
    copy_example(*plan.data, plan.data->targets, example, target.targets, i);
  }
  return digest;
}

}  // namespace regatta::cpu
