// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch.h"

#include <algorithm>
#include <numeric>

#include "kernels/graph/error.h"

namespace regatta::cpu {
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

void check_features(const DataSet& data, std::int64_t features, std::int64_t targets) {
  if (data.features.size() != static_cast<std::size_t>(data.count * features) ||
      data.targets.size() != static_cast<std::size_t>(data.count * targets)) {
    reject_data(data, std::to_string(features) + " features and " + std::to_string(targets) +
                          " targets an example");
  }
}

void prepare_order(const BatchPlan& plan, std::int64_t epoch, EpochOrder& order) {
  if (order.epoch == epoch) return;
  order.order.resize(static_cast<std::size_t>(plan.data->count));  // allocates the first time only
  draw_example_order(plan.seed, epoch, order.order);
  order.epoch = epoch;
}

void fill_image(const BatchPlan& plan, std::int64_t epoch, std::int64_t example, float* target) {
  const std::uint8_t* image = plan.data->images.data() + example * plan.example_elements;
  const AugmentationDraw draw =
      plan.augments ? draw_augmentation(plan.seed, epoch, example, plan.pipeline->ranges())
                    : AugmentationDraw{};
  plan.pipeline->prepare(image, draw, target);
}

void fill_features(const BatchPlan& plan, std::int64_t example, float* features, float* targets) {
  std::copy_n(plan.data->features.data() + example * plan.example_elements, plan.example_elements,
              features);
  std::copy_n(plan.data->targets.data() + example * plan.target_elements, plan.target_elements,
              targets);
}

}  // namespace

BatchPlan::BatchPlan(const KernelRequest& request)
    : data(request.data),
      seed(request.seed),
      slice(slice_of(request.node.attributes)),
      example_elements(product(request.node.attributes.integers("example"))),
      target_elements(0),
      augments(false) {
  const Attributes& attributes = request.node.attributes;
  if (data == nullptr) throw RunError(ErrorKind::Data, "the model has an input, but no data set");
  if (attributes.has("targets")) {
    target_elements = attributes.integer("targets");
    check_features(*data, example_elements, target_elements);
  } else {
    check_images(*data, attributes.integers("example"));
    const Augmentation augmentation = augmentation_of(attributes, slice.order);
    augments = augments_images(augmentation);
    pipeline.emplace(ImagePipeline::Shape{data->side, data->channels}, augmentation);
  }
  if (slice.global_batch > data->count) {
    throw RunError(ErrorKind::Usage, "a global batch of " + std::to_string(slice.global_batch) +
                                         " examples is more than data set '" + data->name +
                                         "' has (" + std::to_string(data->count) +
                                         "); use a smaller batch");
  }
  check(slice.offset >= 0 && slice.offset + slice.batch <= slice.global_batch,
        "an input's slice lies in the global batch");
}

bool BatchPlan::is_constant() const { return slice.global_batch == data->count && !augments; }

void fill_batch(const BatchPlan& plan, std::int64_t step, EpochOrder& order,
                const BatchView& target) {
  const std::int64_t epoch = plan.is_constant() ? 0 : step / plan.steps_per_epoch();
  const bool shuffled = plan.slice.order == ExampleOrder::Shuffled;
  if (shuffled) prepare_order(plan, epoch, order);
  const std::int64_t first =
      step % plan.steps_per_epoch() * plan.slice.global_batch + plan.slice.offset;
  for (std::int64_t i = 0; i < plan.slice.batch; ++i) {
    const std::int64_t example =
        shuffled ? order.order[static_cast<std::size_t>(first + i)] : first + i;
    float* values = target.examples + i * plan.example_elements;
    if (plan.pipeline.has_value()) {
      fill_image(plan, epoch, example, values);
      static_cast<std::int32_t*>(target.targets)[i] =
          plan.data->labels[static_cast<std::size_t>(example)];
    } else {
      fill_features(plan, example, values,
                    static_cast<float*>(target.targets) + i * plan.target_elements);
    }
  }
}

}  // namespace regatta::cpu
