// SPDX-License-Identifier: Apache-2.0
#include "workloads/mobilenet_v2.h"

#include <string>

#include "workloads/model.h"

namespace regatta::workloads {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr Window kPoint{.kernel = 1, .stride = 1, .padding = 0};
constexpr Window kStem{.kernel = 3, .stride = 1, .padding = 1};
constexpr Window kHeadPool{.kernel = 4, .stride = 4, .padding = 0};
constexpr std::int64_t kStemChannels = 32;
constexpr std::int64_t kHeadChannels = 1280;

/// Consecutive blocks; the first one has the stride.
struct Stage {
  std::int64_t expansion;
  std::int64_t channels;
  std::int64_t blocks;
  std::int64_t stride;
};

// The paper's table, but with stride 1 in the stem and the second stage: images are 32 x 32.
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 1},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// Groups of 32 instead of a replica's 64: two workers can share a --global-batch of 64, and three a
// batch of 128 as 64 + 32 + 32. Page finds groups of about 32 best.
constexpr MobileNetV2Size kSize{.narrower = 1, .normalization_group = 32};

/// Convolutions with normalisation; each is a separate layer.
class Network {
 public:
  Network(Model& model, const MobileNetV2Size& size) : model_(model), size_(size) {}

  /// Shapes: images [B, 32, 32, 3] to logits [B, 10].
  Value logits(Value images) {
    Value x = relu(convolution("stem", images, wide(kStemChannels), kStem));
    std::int64_t number = 0;
    for (const Stage& stage : kStages) {
      for (std::int64_t i = 0; i < stage.blocks; ++i) {
        x = block("block" + std::to_string(++number), x, stage, i == 0 ? stage.stride : 1);
      }
    }
    x = relu(convolution("head", x, wide(kHeadChannels), kPoint));
    model_.layer("classifier");
    x = model_.builder().reshape(model_.builder().average_pool(x, kHeadPool),
                                 {wide(kHeadChannels)});
    const Initializer uniform = fan_in_uniform(wide(kHeadChannels));
    return model_.bias(model_.as_f32(model_.dense(x, kClasses, uniform)), uniform);
  }

 private:
  /// Expands, filters each channel separately, and projects without an activation. If the image
  /// keeps its size, x is added; if the number of channels changes, x first passes a convolution,
  /// which the paper's network does not have.
  Value block(const std::string& layer, Value x, const Stage& stage, std::int64_t stride) {
    const std::int64_t outputs = wide(stage.channels);
    Value y = relu(convolution(layer + ".expand", x, stage.expansion * channels_of(x), kPoint));
    y = relu(depthwise(layer + ".depthwise", y, stride));
    y = convolution(layer + ".project", y, outputs, kPoint);
    if (stride != 1) return y;
    if (channels_of(x) != outputs) x = convolution(layer + ".shortcut", x, outputs, kPoint);
    return model_.builder().add(y, x);
  }

  Value convolution(const std::string& layer, Value x, std::int64_t channels,
                    const Window& window) {
    model_.layer(layer);
    return normalize(model_.convolution(x, channels, window));
  }

  Value depthwise(const std::string& layer, Value x, std::int64_t stride) {
    model_.layer(layer);
    return normalize(
        model_.depthwise_convolution(x, {.kernel = 3, .stride = stride, .padding = 1}));
  }

  Value normalize(Value x) {
    return model_.normalize(x,
                            {.group = size_.normalization_group, .epsilon = 1e-5, .momentum = 0.1});
  }

  Value relu(Value x) { return model_.builder().relu(x); }
  std::int64_t wide(std::int64_t channels) const { return channels / size_.narrower; }
  std::int64_t channels_of(Value x) { return model_.builder().graph().type(x).dim(3); }

  Model& model_;
  MobileNetV2Size size_;
};

const TensorType kExample{ElementType::U8, {32, 32, 3}};

/// The data set's mean and the deviation that the source gives, in units of a byte.
Augmentation standardized() {
  Augmentation result;
  result.mean = {0.4914 * 255, 0.4822 * 255, 0.4465 * 255};
  result.deviation = {0.2023 * 255, 0.1994 * 255, 0.2010 * 255};
  return result;
}

/// standardized() with a random crop and flip.
Augmentation cropped() {
  Augmentation result = standardized();
  result.pad = 4;
  result.border = Augmentation::Border::Black;
  result.flip = Augmentation::Flip::Random;
  return result;
}

/// The parts in which the recipes differ.
struct Course {
  Augmentation augmentation;
  Optimizer optimizer;
};

Step training(const Recipe& recipe, MobileNetV2Size size, const Course& course) {
  size.normalization_group = normalization_group_of(recipe, size.normalization_group);
  Model model(Mode::Training, recipe.element);
  model.layer("input");
  const std::vector<Value> batch = model.images(recipe.global_batch, kExample, course.augmentation);
  const Value logits = Network(model, size).logits(batch[0]);
  model.layer("loss");
  const Value loss = model.builder().softmax_cross_entropy(
      logits, batch[1], {.label_smoothing = 0, .divisor = recipe.global_batch});
  return model.finish_training(loss,
                               {.optimizer = [&](const std::string&) { return course.optimizer; },
                                .global_batch = recipe.global_batch,
                                .normalization_group = size.normalization_group});
}

Course textbook(const Recipe& recipe) {
  AdamOptions adam;
  adam.rate = Schedule::constant(recipe.rate_scale * 0.001);
  return {.augmentation = standardized(), .optimizer = adam};
}

Course source_recipe(const Recipe& recipe) {
  SgdOptions sgd;
  append_cosine(sgd.rate, {.begin = 0,
                           .end = static_cast<double>(recipe.total_examples),
                           .from = recipe.rate_scale * 0.1,
                           .to = 0});
  sgd.momentum = 0.9;
  sgd.weight_decay = 5e-4;
  return {.augmentation = cropped(), .optimizer = sgd};
}

Step train(const Recipe& recipe) { return mobilenet_v2_training(recipe, kSize); }
Step train_full(const Recipe& recipe) { return mobilenet_v2_full_training(recipe, kSize); }
Step evaluate(const Recipe& recipe) { return mobilenet_v2_evaluation(recipe, kSize); }

/// From one reference run of `single`, f32 (results/xeon-no-amx-2-cores/mobilenet_v2): reached
/// after 3.0 epochs and in each of the nine evaluations from there on; 78.24 at the end.
constexpr double kTextbookTarget = 75.0;

}  // namespace

Step mobilenet_v2_training(const Recipe& recipe, const MobileNetV2Size& size) {
  return training(recipe, size, textbook(recipe));
}

Step mobilenet_v2_full_training(const Recipe& recipe, const MobileNetV2Size& size) {
  return training(recipe, size, source_recipe(recipe));
}

Step mobilenet_v2_evaluation(const Recipe& recipe, const MobileNetV2Size& size) {
  Model model(Mode::Evaluation, recipe.element);
  model.layer("input");
  const std::int64_t examples = recipe.evaluation_batch;
  const std::vector<Value> batch = model.images(examples, kExample, standardized());
  const Value logits = Network(model, size).logits(batch[0]);
  return model.finish_classification(logits, batch[1], examples);
}

Workload mobilenet_v2() {
  return {.name = "mobilenet_v2",
          .tier = "standard",
          .summary = "MobileNetV2 from random weights, Adam 0.001: 5 epochs of CIFAR-10",
          .data_sets = {"cifar10", "shapes"},
          .global_batch = 64,
          .batch_scope = BatchScope::Replica,
          .epochs = 5,
          .evaluation_every = 12'480,
          .evaluation_batch = 500,
          .metric = Metric::Accuracy,
          .target = kTextbookTarget,
          .build_training = train,
          .build_evaluation = evaluate};
}

Workload mobilenet_v2_full() {
  return {.name = "mobilenet_v2_full",
          .tier = "full",
          .summary = "MobileNetV2, its source's recipe: 200 epochs of CIFAR-10, SGD, cosine",
          .data_sets = {"cifar10", "shapes"},
          .global_batch = 128,
          .epochs = 200,
          .evaluation_every = 390 * 128,
          .evaluation_batch = 500,
          .metric = Metric::Accuracy,
          // Other reports disagree: 94.43 (README; an older schedule of 350 epochs), about 94 only
          // with a decay of 4e-5 (issues #29, #112), 92.2 for this very recipe (mmpretrain #141).
          // Only the last has the same schedule and decay.
          .target = 92.0,
          .build_training = train_full,
          .build_evaluation = evaluate};
}

}  // namespace regatta::workloads
