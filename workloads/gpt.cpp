// SPDX-License-Identifier: Apache-2.0
#include "workloads/gpt.h"

#include <cmath>
#include <string>

#include "kernels/base/error.h"
#include "workloads/model.h"
#include "workloads/shared_options.h"

namespace regatta::workloads {
namespace {

struct Size {
  explicit Size(const ChosenOptions& options)
      : layers(options.count(kLayers)),
        width(options.count(kWidth)),
        heads(options.count(kHeads)),
        context(options.count(kContext)),
        vocabulary(options.count(kVocabulary)),
        is_llama(options.choice(kBlock) == kLlama) {
    if (is_llama && width % heads == 0 && width / heads % 2 != 0) {
      throw RunError(ErrorKind::Usage,
                     "--block llama rotates pairs of a head's channels, and --width / --heads is " +
                         std::to_string(width / heads) + "; fix: give an even quotient");
    }
    if (width % heads == 0) return;
    throw RunError(ErrorKind::Usage, "--heads is " + std::to_string(heads) +
                                         ": heads divide the width, which is " +
                                         std::to_string(width));
  }

  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t context;
  std::int64_t vocabulary;
  bool is_llama;
};

constexpr double kDeviation = 0.02;  // GPT-2
constexpr double kClip = 1.0;
/// Muon's rate in terms of AdamW's. gpt_thin ends 200 steps with 1, 2, 4 and 8 at losses 2.51,
/// 2.09, 1.46 and 1.41 (AdamW: 2.71).
constexpr double kMuonRates = 4;
constexpr double kDecay = 0.1;
constexpr double kWarmup = 0.1;  ///< share of the run in which the rate rises

Initializer normal(double deviation) {
  return {.kind = Initializer::Kind::Normal, .scale = deviation, .source = {}};
}

/// Llama's hidden width: two thirds of 4 times the width, rounded up to a multiple of 32.
std::int64_t hidden_of(const Size& size) {
  constexpr std::int64_t kMultiple = 32;
  if (!size.is_llama) return 4 * size.width;
  return (8 * size.width / 3 + kMultiple - 1) / kMultiple * kMultiple;
}

class Gpt {
 public:
  Gpt(Model& model, const Size& size) : model_(model), size_(size) {
    // GPT-2: what a block adds to the residual is scaled by the number of such terms.
    into_residual_ = normal(kDeviation / std::sqrt(2.0 * static_cast<double>(size.layers)));
  }

  /// Shapes: tokens [B, S] i32 to logits [B, S, V] f32.
  Value logits(Value tokens) {
    model_.layer("wte");
    const Value table =
        model_.parameter("weight", {size_.vocabulary, size_.width}, normal(kDeviation));
    Value x = model_.embed(tokens, table);
    if (!size_.is_llama) {
      model_.layer("wpe");
      x = builder().positions(
          x, model_.parameter("weight", {size_.context, size_.width}, normal(kDeviation)));
    }
    for (std::int64_t i = 0; i < size_.layers; ++i) x = block(x, "layer" + std::to_string(i));
    x = normalize(x, "head.norm");
    model_.layer("head");
    return model_.as_f32(model_.dense(x, table));
  }

 private:
  Builder& builder() { return model_.builder(); }

  Value normalize(Value x, const std::string& layer) {
    using Center = LayerNormalization::Center;
    model_.layer(layer);
    const Center center = size_.is_llama ? Center::None : Center::Mean;
    return model_.layer_normalize(x, {.center = center});
  }

  Value block(Value x, const std::string& layer) {
    Value y = normalize(x, layer + ".norm1");
    model_.layer(layer + ".attention");
    y = model_.dense(y, model_.parameter("qkv", {3, size_.width, size_.width}, normal(kDeviation)));
    if (size_.is_llama) y = builder().rotary(y, size_.heads);
    y = builder().attention(y, size_.heads);
    y = model_.dense(y, model_.parameter("proj", {size_.width, size_.width}, into_residual_));
    x = builder().add(x, y);
    y = normalize(x, layer + ".norm2");
    model_.layer(layer + ".mlp");
    y = hidden(y);
    y = model_.dense(y, model_.parameter("down", {size_.width, hidden_of(size_)}, into_residual_));
    return builder().add(x, y);
  }

  Value hidden(Value x) {
    const std::int64_t width = hidden_of(size_);
    if (!size_.is_llama) {
      return builder().gelu(
          model_.dense(x, model_.parameter("up", {width, size_.width}, normal(kDeviation))));
    }
    return builder().swiglu(
        model_.dense(x, model_.parameter("up", {2, width, size_.width}, normal(kDeviation))));
  }

  Model& model_;
  const Size& size_;
  Initializer into_residual_;
};

/// Rises linearly to the peak in the first tenth of the steps and falls by half a cosine to a tenth
/// of it. Step t has the rate peak (t + 1) / (warm-up steps + 1).
Schedule learning_rate(const Recipe& recipe, double peak) {
  const auto batch = static_cast<double>(recipe.global_batch);
  const auto total = static_cast<double>(recipe.total_examples);
  peak *= recipe.rate_scale;
  const double warmup = std::floor(kWarmup * total / batch) * batch;
  Schedule schedule{.examples = {-batch}, .values = {0}};
  append_cosine(schedule,
                {.begin = warmup, .end = total, .from = peak, .to = peak / 10, .pieces = 200});
  return schedule;
}

std::vector<Value> tokens(Model& model, std::int64_t batch, const Size& size) {
  model.layer("input");
  const TensorType sequence{ElementType::I32, {size.context}};
  return model.builder().input(model.whole(batch), sequence, sequence);
}

/// Returns the sum of the tokens' losses, divided by `tokens`. Units: nats.
Value loss_of(Model& model, Value logits, Value targets, std::int64_t tokens) {
  model.layer("loss");
  return model.builder().softmax_cross_entropy(logits, targets,
                                               {.label_smoothing = 0, .divisor = tokens});
}

Step training(const Recipe& recipe, double peak_rate) {
  const Size size(recipe.options);
  require_no_groups(recipe);
  Model model(Mode::Training, recipe.element);
  const std::vector<Value> batch = tokens(model, recipe.global_batch, size);
  const Value logits = Gpt(model, size).logits(batch[0]);
  const Value loss = loss_of(model, logits, batch[1], recipe.global_batch * size.context);
  const Schedule rate = learning_rate(recipe, peak_rate);
  const Schedule muon_rate = learning_rate(recipe, kMuonRates * peak_rate);
  const std::string chosen = recipe.options.choice(kOptimizer);
  const bool by_sgd = chosen == kPlainSgd, by_muon = chosen == kMuon;
  const ElementType element = recipe.element;
  const auto optimizer = [=](const std::string& parameter) -> Optimizer {
    if (by_sgd) return SgdOptions{.rate = rate, .momentum = 0.9};
    const bool is_gain = parameter.ends_with(".gain");
    if (by_muon && !is_gain && parameter.starts_with("layer")) {
      return MuonOptions{.rate = muon_rate, .weight_decay = kDecay, .element = element};
    }
    return AdamOptions{.rate = rate, .beta2 = 0.99, .weight_decay = is_gain ? 0 : kDecay};
  };
  return model.finish_training(loss, {.optimizer = optimizer,
                                      .global_batch = recipe.global_batch,
                                      .gradient_clip = by_sgd ? 0 : kClip});
}

Step evaluation(const Recipe& recipe) {
  const Size size(recipe.options);
  Model model(Mode::Evaluation, recipe.element);
  const std::vector<Value> batch = tokens(model, recipe.evaluation_batch, size);
  const Value logits = Gpt(model, size).logits(batch[0]);
  return model.finish_evaluation({loss_of(model, logits, batch[1], size.context)},
                                 recipe.evaluation_batch);
}

/// The options of a size, in GPT-2's blocks by AdamW.
std::vector<WorkloadOption> size(std::int64_t layers, std::int64_t width, std::int64_t heads,
                                 std::int64_t context, std::int64_t vocabulary) {
  return {{&kLayers, layers},
          {&kWidth, width},
          {&kHeads, heads},
          {&kContext, context},
          {&kVocabulary, vocabulary},
          {&kBlock, std::string(kBlocks[0])},
          {&kOptimizer, std::string(kOptimizers[0])}};
}

}  // namespace

Workload gpt_tiny() {
  return {.name = "gpt_tiny",
          .tier = "quick",
          .summary = "GPT of 0.1 M parameters: 2 layers, width 64, context 16; 140 steps of AdamW",
          .data_sets = {"pairs"},
          .global_batch = 96,
          .steps = 140,
          .evaluation_every = 10 * 96,
          .evaluation_batch = 128,
          .metric = Metric::Loss,
          // The best predictor from the last token alone has 2.57 nats (shared/reference/gpt.md).
          .target = 1.9,
          .options = size(2, 64, 4, 16, 16),
          .build_training = [](const Recipe& recipe) { return training(recipe, 9e-3); },
          .build_evaluation = evaluation};
}

Workload gpt_thin() {
  return {
      .name = "gpt_thin",
      .tier = "standard",
      .summary = "GPT of 0.8 M parameters: 4 layers, width 128, context 64; 1,000 steps of AdamW",
      .data_sets = {"pairs", "text"},
      .global_batch = 12,
      .steps = 1000,
      .evaluation_every = 100 * 12,
      .evaluation_batch = 32,
      .metric = Metric::Loss,
      .target = 1.290,  // five of five seeds of another program cross it at steps 779 to 812
      .other_targets = {{"text", 1.98}},  // Shakespeare: three of three, at steps 780 to 840
      .options = size(4, 128, 4, 64, 256),
      .build_training = [](const Recipe& recipe) { return training(recipe, 3e-3); },
      .build_evaluation = evaluation};
}

Workload gpt_small() {
  return {
      .name = "gpt_small",
      .tier = "standard",
      .summary = "GPT of 3.2 M parameters: 4 layers, width 256, context 128; 500 steps of AdamW",
      .data_sets = {"pairs", "text"},
      .global_batch = 32,
      .steps = 500,
      .evaluation_every = 100 * 32,
      .evaluation_batch = 32,
      .metric = Metric::Loss,
      .target = 1.290,
      .other_targets = {{"text", {}}},
      .options = size(4, 256, 4, 128, 256),
      .build_training = [](const Recipe& recipe) { return training(recipe, 2e-3); },
      .build_evaluation = evaluation};
}

}  // namespace regatta::workloads
