// SPDX-License-Identifier: Apache-2.0
//
// Times the kernels of this folder on a GPU, in bf16, on the shapes of airbench94 at batch 1024.
// Reports the time of a launch among many in the queue, the bytes of inputs and outputs (the least
// memory traffic) and, for convolutions and products, flop/s (2 a multiply-add). Each convolution
// appears twice, with the engine that trials find fastest and with the heuristics' first; the label
// names the engine.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <numeric>
#include <string>

#include "kernels/cuda/device/device_op_for_test.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/data_set.h"
#include "kernels/graph/fusion.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cuda {
namespace {

using cpu::test::Array;
using cpu::test::Dims;
using cpu::test::OpCase;
using cpu::test::random_array;
using cpu::test::random_labels;
using cpu::test::to_bf16;
using testing_support::DeviceOp;
using testing_support::Place;
using Activation = Fusion::Activation;
using Pool = Fusion::Pool;

constexpr std::int64_t kBatch = 1024;

struct Layer {
  const char* name;
  std::int64_t side, channels;
  Pool pool;
};
constexpr Layer kLayers[] = {
    {"block 1, first", 31, 64, Pool::Before},  {"block 1, second", 15, 64, Pool::None},
    {"block 2, first", 15, 256, Pool::Before}, {"block 2, second", 7, 256, Pool::None},
    {"block 3, first", 7, 256, Pool::Before},  {"block 3, second", 3, 256, Pool::None}};

Array images(std::int64_t side, std::int64_t channels, unsigned seed) {
  return to_bf16(random_array({kBatch, side, side, channels}, seed));
}

Fusion fusion_of_layer(const Layer& layer) { return {Activation::Gelu, layer.pool, 2}; }

OpCase forward(const Layer& layer, std::int64_t group) {
  const Dims channel{layer.channels};
  OpCase op_case{
      Op::FusedNormalize,
      {{"group", group}, {"epsilon", 1e-5}, {"momentum", 0.1}},
      {images(layer.side, layer.channels, 1), random_array(channel, 2), random_array(channel, 3)},
      {random_array(channel, 4), random_array(channel, 5)},
      layer.name};
  set_fusion(op_case.attributes, fusion_of_layer(layer));
  return op_case;
}

OpCase backward(const Layer& layer, std::int64_t group) {
  const bool pooled = layer.pool == Pool::Before;
  const std::int64_t side = pooled ? layer.side / 2 : layer.side;
  const Dims channel{layer.channels}, statistic{kBatch / group, layer.channels};
  OpCase op_case{
      Op::FusedNormalizeBackward,
      {{"group", group}},
      {images(side, layer.channels, 1), images(side, layer.channels, 2), random_array(channel, 3),
       random_array(channel, 4), random_array(statistic, 5), random_array(statistic, 6)},
      {},
      layer.name};
  set_fusion(op_case.attributes, fusion_of_layer(layer));
  if (pooled) {
    op_case.attributes.set("dims", Dims{kBatch, layer.side, layer.side, layer.channels});
    op_case.inputs.push_back(Array({ElementType::U8, op_case.inputs[0].type.dims}));
  }
  return op_case;
}

OpCase update() {
  const Dims dims{2'000'000};
  return {Op::Sgd,
          {{"momentum", 0.85},
           {"nesterov", std::int64_t{1}},
           {"weight_decay", 0.01},
           {"weight", 1.0},
           {"schedule_examples", std::vector<double>{0}},
           {"schedule_values", std::vector<double>{0.1}}},
          {random_array(dims, 1)},
          {random_array(dims, 2), random_array(dims, 3)},
          "sgd of 2 million parameters"};
}

OpCase loss() {
  return {Op::SoftmaxCrossEntropy,
          {{"label_smoothing", 0.2}, {"divisor", kBatch}},
          {to_bf16(random_array({kBatch, 10}, 1)), random_labels(kBatch, 10, 2)},
          {},
          "softmax_cross_entropy"};
}

/// Counts the buckets' bytes twice, as inputs and outputs: each is read and written once.
OpCase sum_of_replicas(std::int64_t members) {
  OpCase op_case{
      Op::AllReduce,
      {{"group", std::int64_t{0}}, {"members", members}, {"algorithm", std::string("ring")}},
      {},
      {},
      "all_reduce"};
  const Array bucket = random_array({2'000'000}, 1);
  for (std::int64_t member = 0; member < members; ++member) op_case.inputs.push_back(bucket);
  return op_case;
}

struct Convolution {
  const char* name;
  std::int64_t side, inputs, outputs, kernel, padding;
  std::int64_t result_side() const { return side + 2 * padding - kernel + 1; }
  double flop() const {
    return 2.0 * static_cast<double>(kBatch * result_side() * result_side() * outputs * inputs *
                                     kernel * kernel);
  }
};
constexpr Convolution kConvolutions[] = {
    {"whitening", 32, 3, 24, 2, 0},         {"block 1, first", 31, 24, 64, 3, 1},
    {"block 1, second", 15, 64, 64, 3, 1},  {"block 2, first", 15, 64, 256, 3, 1},
    {"block 2, second", 7, 256, 256, 3, 1}, {"block 3, first", 7, 256, 256, 3, 1},
    {"block 3, second", 3, 256, 256, 3, 1}};

/// A convolution, its gradient of the input and its gradient of the weights.
std::vector<OpCase> passes(const Convolution& c) {
  const Array x = images(c.side, c.inputs, 1), y = images(c.result_side(), c.outputs, 2);
  const Array w = to_bf16(random_array({c.outputs, c.kernel, c.kernel, c.inputs}, 3));
  const Attributes window{
      {"kernel", c.kernel}, {"stride", std::int64_t{1}}, {"padding", c.padding}};
  Attributes of_input = window;
  of_input.set("dims", x.type.dims);
  of_input.set("images", std::int64_t{1});
  Attributes of_weights = window;
  of_weights.set("dims", w.type.dims);
  return {{Op::Convolution, window, {x, w}, {}, "convolution"},
          {Op::ConvolutionBackwardData, of_input, {y, w}, {}, "convolution_backward_data"},
          {Op::ConvolutionBackwardWeights, of_weights, {y, x}, {}, "convolution_backward_weights"}};
}

/// The same three passes for y [batch, outputs] = x [batch, inputs] wᵀ.
std::vector<OpCase> passes_of_dense(std::int64_t batch, std::int64_t inputs, std::int64_t outputs) {
  const Array x = to_bf16(random_array({batch, inputs}, 1));
  const Array w = to_bf16(random_array({outputs, inputs}, 2));
  const Array dy = to_bf16(random_array({batch, outputs}, 3));
  return {{Op::Dense, {}, {x, w}, {}, "dense"},
          {Op::DenseBackwardData, {}, {dy, w}, {}, "dense_backward_data"},
          {Op::DenseBackwardWeights, {}, {dy, x}, {}, "dense_backward_weights"}};
}

/// A batch of pictures with all augmentations.
OpCase input() {
  const auto element = static_cast<std::int64_t>(ElementType::BF16);
  return {Op::Input,
          {{"batch", kBatch},
           {"offset", std::int64_t{0}},
           {"global_batch", kBatch},
           {"element", element},
           {"example", Dims{32, 32, 3}},
           {"target_element", static_cast<std::int64_t>(ElementType::I32)},
           {"target", Dims{}},
           {"pad", std::int64_t{2}},
           {"border", static_cast<std::int64_t>(Augmentation::Border::Reflected)},
           {"flip", static_cast<std::int64_t>(Augmentation::Flip::Random)},
           {"cutout", std::int64_t{3}},
           {"mean", std::vector<double>{125.3, 123, 113.9}},
           {"deviation", std::vector<double>{63, 62.1, 66.7}}},
          {},
          {},
          "input"};
}

const DataSet& pictures() {
  static const DataSet data = [] {
    constexpr std::int64_t kCount = 50'000;
    std::vector<std::uint8_t> pixels(kCount * 32 * 32 * 3);
    std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
    return DataSet{.name = "pictures",
                   .count = kCount,
                   .inputs = {{32, 32, 3}, std::move(pixels)},
                   .targets = {{}, std::vector<std::int32_t>(kCount)}};
  }();
  return data;
}

OpCase bias() {
  return {Op::FusedBias,
          {{"activation", std::string("gelu")}},
          {images(31, 24, 1), random_array({24}, 2)},
          {},
          "fused_bias"};
}

OpCase bias_backward() {
  return {Op::FusedBiasBackward,
          {{"data", std::int64_t{0}}, {"activation", std::string("gelu")}},
          {images(31, 24, 1), images(31, 24, 2), random_array({24}, 3)},
          {},
          "fused_bias_backward"};
}

const KernelTable& table_of(EngineRule engines) {
  static const KernelTable timed = [] {
    KernelTable filled("cuda");
    add_cuda_kernels(filled, EngineRule::Timed);
    return filled;
  }();
  return engines == EngineRule::Timed ? timed : testing_support::cuda_table();
}

struct Measured {
  OpCase op_case;
  double flop = 0;  ///< of a run; 0: none are counted
  EngineRule engines = EngineRule::Heuristic;
};

/// Times launches among others; the queue is emptied before it grows long.
void measure(benchmark::State& state, const Measured& measured) {
  constexpr std::int64_t kQueued = 100;
  const OpCase& op_case = measured.op_case;
  const std::unique_ptr<Device> device = make_cuda_device(0);
  DeviceOp op(*device, Place::Aligned, op_case, table_of(measured.engines), &pictures());
  state.SetLabel(op.choice());
  std::int64_t bytes = 0;
  for (const Array& array : op_case.inputs) bytes += array.type.bytes();
  for (const Array& array : op.outputs()) bytes += array.type.bytes();
  for (const Array& array : op_case.variables) bytes += 2 * array.type.bytes();
  op.begin_step({});
  op.run({});  // moves data that the host has read back to the GPU
  op.finish();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kQueued; ++i) op.run({});
    op.finish();
  }
  state.SetBytesProcessed(bytes * kQueued * state.iterations());
  if (measured.flop > 0) {
    const auto runs = static_cast<double>(kQueued * state.iterations());
    state.counters["flop"] = benchmark::Counter(measured.flop * runs, benchmark::Counter::kIsRate);
  }
  state.counters["time_per_run"] =
      benchmark::Counter(static_cast<double>(kQueued * state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void add_measured(const std::string& name, const Measured& measured) {
  benchmark::RegisterBenchmark(name.c_str(), [measured](benchmark::State& state) {
    measure(state, measured);
  })->UseRealTime();
}
void add(const std::string& name, const OpCase& op_case) {
  add_measured(name, {.op_case = op_case, .flop = 0});
}

void add_products() {
  for (const Convolution& convolution : kConvolutions) {
    for (const OpCase& pass : passes(convolution)) {
      const std::string name = std::string(convolution.name) + ": " + pass.name;
      add_measured(name + ", timed", {pass, convolution.flop(), EngineRule::Timed});
      add_measured(name + ", heuristic", {pass, convolution.flop(), EngineRule::Heuristic});
    }
  }
  for (const auto& [inputs, outputs] :
       {std::pair<std::int64_t, std::int64_t>{256, 10}, {4096, 4096}}) {
    for (const OpCase& pass : passes_of_dense(kBatch, inputs, outputs)) {
      const double flop = 2.0 * static_cast<double>(kBatch * inputs * outputs);
      add_measured(pass.name + " of " + std::to_string(kBatch) + "x" + std::to_string(inputs) +
                       " to " + std::to_string(outputs),
                   {pass, flop});
    }
  }
}

void add_all() {
  for (const Layer& layer : kLayers) {
    for (const std::int64_t group : {kBatch, std::int64_t{128}}) {
      const std::string name =
          std::string(layer.name) + ", groups of " + std::to_string(group) + ": ";
      add(name + "fused_normalize", forward(layer, group));
      add(name + "fused_normalize_backward", backward(layer, group));
    }
  }
  add_products();
  add("input of 1024x32x32x3, augmented", input());
  add("whitening: fused_bias", bias());
  add("whitening: fused_bias_backward", bias_backward());
  add("gelu of 1024x32x32x64", {Op::Gelu, {}, {images(32, 64, 1)}, {}, "gelu"});
  add("sgd of 2 million parameters", update());
  add("softmax_cross_entropy of 1024x10", loss());
  for (const std::int64_t elements : {4'096, 589'824, 4'718'592}) {
    add("top_k of 1 % of " + std::to_string(elements),
        {Op::TopK, {{"count", elements / 100}}, {random_array({elements}, 1)}, {}, "top_k"});
  }
  for (const std::int64_t members : {2, 4, 8}) {
    add("all_reduce of 2 million gradients of " + std::to_string(members) + " replicas",
        sum_of_replicas(members));
  }
}

}  // namespace
}  // namespace regatta::cuda

int main(int argc, char** argv) {
  const regatta::GpuFindings found = regatta::find_gpus();
  if (!found.missing.empty()) {
    std::fprintf(stderr, "%s\n", found.missing.c_str());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  regatta::cuda::add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
