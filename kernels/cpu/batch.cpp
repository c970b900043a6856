// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch.h"

#include <algorithm>

#include "kernels/graph/data_order.h"

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
  const std::uint8_t* image = plan.data->images.data() + example * plan.example_elements;
  const AugmentationDraw draw = plan.augments
                                    ? draw_augmentation(plan.seed, epoch, example, plan.ranges())
                                    : AugmentationDraw{};
  plan.pipeline->prepare(image, draw, target);
  return draw;
}

void fill_features(const BatchPlan& plan, std::int64_t example, float* features, float* targets) {
  std::copy_n(plan.data->features.data() + example * plan.example_elements, plan.example_elements,
              features);
  std::copy_n(plan.data->targets.data() + example * plan.target_elements, plan.target_elements,
              targets);
}

}  // namespace

BatchPlan::BatchPlan(const KernelRequest& request)
    : InputPlan(request.node.attributes, request.data, request.seed) {
  if (images) pipeline.emplace(ImagePipeline::Shape{data->side, data->channels}, augmentation);
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
    float* values = target.examples + i * plan.example_elements;
    if (plan.images) {
      digest += order_digest(place, example, fill_image(plan, epoch, example, values));
      static_cast<std::int32_t*>(target.targets)[i] =
          plan.data->labels[static_cast<std::size_t>(example)];
    } else {
      fill_features(plan, example, values,
                    static_cast<float*>(target.targets) + i * plan.target_elements);
      digest += order_digest(place, example);
    }
  }
  return digest;
}

}  // namespace regatta::cpu
