// SPDX-License-Identifier: Apache-2.0
//
// Times of single ops on the shapes of resnet9, resnet9_thin and gpt, for ci/regression:
// convolutions, summed by pass, and ops that are bound by memory. Arguments end in the number of
// threads.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/runtime/affinity.h"

namespace regatta::cpu::test {
namespace {

/// Pins each thread to a core, if there are enough: threads that begin on one core stay there for
/// some milliseconds and take several times as long.
void pin_team(int threads) {
  if (threads > static_cast<int>(std::thread::hardware_concurrency())) return;
#pragma omp parallel num_threads(threads)
  pin_thread({omp_get_thread_num()});
}

/// Runs one step's kernels in order.
void run_all(benchmark::State& state, std::vector<std::unique_ptr<BuiltOp>>& ops, int threads) {
  omp_set_num_threads(threads);
  pin_team(threads);
  StepContext context;
  for (const auto& op : ops) op->kernel().run(context);  // touches all memory
  for (auto _ : state) {
    for (const auto& op : ops) op->kernel().run(context);
    ++context.step;
  }
}

/// Runs one op and reports the bytes that it must read and write.
void run_one(benchmark::State& state, const OpCase& op_case, int threads) {
  std::vector<std::unique_ptr<BuiltOp>> ops;
  ops.push_back(std::make_unique<BuiltOp>(cpu_table(), op_case, threads));
  run_all(state, ops, threads);
  std::int64_t bytes = 0;
  for (const Array& input : op_case.inputs) bytes += input.type.bytes();
  for (const Array& output : ops[0]->outputs()) bytes += output.type.bytes();
  state.SetBytesProcessed(bytes * state.iterations());
}

// Convolutions.

struct Layer {
  std::int64_t side, inputs, outputs;
};

/// Shapes of resnet9 at the width of its first layer (64; thin: 16).
std::vector<Layer> resnet9_layers(std::int64_t w) {
  return {{32, 3, w},         {32, w, 2 * w},    {16, 2 * w, 2 * w}, {16, 2 * w, 2 * w},
          {16, 2 * w, 4 * w}, {8, 4 * w, 8 * w}, {4, 8 * w, 8 * w},  {4, 8 * w, 8 * w}};
}

Array in_element(const Array& array, ElementType element) {
  return element == ElementType::BF16 ? to_bf16(array) : array;
}

OpCase convolution_case(const Layer& layer, std::int64_t batch, Op op, ElementType element) {
  const Array x =
      in_element(random_array({batch, layer.side, layer.side, layer.inputs}, 1), element);
  const Array w = in_element(random_array({layer.outputs, 3, 3, layer.inputs}, 2), element);
  const Array dy =
      in_element(random_array({batch, layer.side, layer.side, layer.outputs}, 3), element);
  Attributes attributes{
      {"kernel", std::int64_t{3}}, {"stride", std::int64_t{1}}, {"padding", std::int64_t{1}}};
  if (op == Op::Convolution) return {op, attributes, {x, w}, {}, "convolution"};
  const bool data = op == Op::ConvolutionBackwardData;
  attributes.set("dims", data ? x.type.dims : w.type.dims);
  if (data) attributes.set("images", std::int64_t{1});
  return {op, attributes, {dy, data ? w : x}, {}, "convolution_backward"};
}

/// Arguments: width, batch, op, element type, threads.
void BM_Convolution(benchmark::State& state) {
  const auto op = static_cast<Op>(state.range(2));
  const auto element = static_cast<ElementType>(state.range(3));
  const auto threads = static_cast<int>(state.range(4));
  std::vector<std::unique_ptr<BuiltOp>> ops;
  double work = 0;
  for (const Layer& layer : resnet9_layers(state.range(0))) {
    if (op == Op::ConvolutionBackwardData && layer.inputs == 3) continue;
    ops.push_back(std::make_unique<BuiltOp>(
        cpu_table(), convolution_case(layer, state.range(1), op, element), threads));
    work += 2.0 * 9 *
            static_cast<double>(state.range(1) * layer.side * layer.side * layer.inputs *
                                layer.outputs);
  }
  run_all(state, ops, threads);
  state.SetLabel(std::string(to_string(op)) + " " + std::string(to_string(element)));
  state.counters["FLOP/s"] =
      benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["images/s"] = benchmark::Counter(static_cast<double>(state.range(1)),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Convolution)
    ->ArgsProduct({{16, 64},
                   {128},
                   {static_cast<std::int64_t>(Op::Convolution),
                    static_cast<std::int64_t>(Op::ConvolutionBackwardData),
                    static_cast<std::int64_t>(Op::ConvolutionBackwardWeights)},
                   {static_cast<std::int64_t>(ElementType::F32),
                    static_cast<std::int64_t>(ElementType::BF16)},
                   {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Ops bound by memory, on the activations of resnet9's first layers, batch 128.
// Arguments: side, channels, element type, threads.

Array activations(const benchmark::State& state, unsigned seed) {
  return in_element(random_array({128, state.range(0), state.range(0), state.range(1)}, seed),
                    static_cast<ElementType>(state.range(2)));
}

void run_memory_bound(benchmark::State& state, const OpCase& op_case) {
  run_one(state, op_case, static_cast<int>(state.range(3)));
}

OpCase normalize_case(const benchmark::State& state) {
  const Dims channel{state.range(1)};
  return {Op::Normalize,
          {{"group", std::int64_t{32}}, {"epsilon", 1e-5}, {"momentum", 0.1}},
          {activations(state, 1), random_array(channel, 2), random_array(channel, 3)},
          {random_array(channel, 4), random_array(channel, 5)},
          "normalize"};
}

void BM_Normalize(benchmark::State& state) { run_memory_bound(state, normalize_case(state)); }

void BM_NormalizeBackward(benchmark::State& state) {
  BuiltOp forward(cpu_table(), normalize_case(state), 1);
  forward.run({});
  run_memory_bound(
      state, {Op::NormalizeBackward,
              {{"group", std::int64_t{32}}},
              {activations(state, 6), activations(state, 1), random_array({state.range(1)}, 2),
               forward.outputs()[1], forward.outputs()[2]},
              {},
              "normalize_backward"});
}

Attributes halving() {
  return {{"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{0}}};
}

void BM_MaxPool(benchmark::State& state) {
  run_memory_bound(state, {Op::MaxPool, halving(), {activations(state, 1)}, {}, "max_pool"});
}

void BM_MaxPoolBackward(benchmark::State& state) {
  const Array x = activations(state, 1);
  BuiltOp forward(cpu_table(), {Op::MaxPool, halving(), {x}, {}, "max_pool"}, 1);
  forward.run({});
  Attributes attributes = halving();
  attributes.set("dims", x.type.dims);
  run_memory_bound(state, {Op::MaxPoolBackward,
                           attributes,
                           {forward.outputs()[0], forward.outputs()[1]},
                           {},
                           "max_pool_backward"});
}

void memory_bound_arguments(benchmark::internal::Benchmark* b) {
  const auto f32 = static_cast<std::int64_t>(ElementType::F32);
  const auto bf16 = static_cast<std::int64_t>(ElementType::BF16);
  for (std::int64_t threads : {1, 2}) {
    b->Args({32, 16, f32, threads});
    b->Args({32, 64, f32, threads});
    b->Args({32, 64, bf16, threads});
    b->Args({4, 512, f32, threads});
  }
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK(BM_Normalize)->Apply(memory_bound_arguments);
BENCHMARK(BM_NormalizeBackward)->Apply(memory_bound_arguments);
BENCHMARK(BM_MaxPool)->Apply(memory_bound_arguments);
BENCHMARK(BM_MaxPoolBackward)->Apply(memory_bound_arguments);

// Arguments: tokens, channels, element type, threads.

Array tokens(const benchmark::State& state, unsigned seed) {
  return in_element(random_array({state.range(0), state.range(1)}, seed),
                    static_cast<ElementType>(state.range(2)));
}

OpCase layer_normalize_case(const benchmark::State& state) {
  return {Op::LayerNormalize,
          {{"center", std::int64_t{1}}, {"epsilon", 1e-5}},
          {tokens(state, 1), random_array({state.range(1)}, 2)},
          {},
          "layer_normalize"};
}

void BM_LayerNormalize(benchmark::State& state) {
  run_memory_bound(state, layer_normalize_case(state));
}

void BM_LayerNormalizeBackward(benchmark::State& state) {
  BuiltOp forward(cpu_table(), layer_normalize_case(state), 1);
  forward.run({});
  run_memory_bound(state, {Op::LayerNormalizeBackward,
                           {{"center", std::int64_t{1}}},
                           {tokens(state, 3), tokens(state, 1), random_array({state.range(1)}, 2),
                            forward.outputs()[1], forward.outputs()[2]},
                           {},
                           "layer_normalize_backward"});
}

void token_arguments(benchmark::internal::Benchmark* b) {
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    for (std::int64_t threads : {1, 2}) {
      b->Args({768, 128, static_cast<std::int64_t>(element), threads});
      b->Args({4096, 256, static_cast<std::int64_t>(element), threads});
    }
  }
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}

// Attention, on the shapes of gpt_thin, gpt_small and gpt_baby.
// Arguments: batch, tokens, heads, channels of a head, element type, threads.

Array sequences(const benchmark::State& state, std::int64_t parts, unsigned seed) {
  const std::int64_t channels = state.range(2) * state.range(3);
  return in_element(random_array({state.range(0), state.range(1), parts * channels}, seed),
                    static_cast<ElementType>(state.range(4)));
}

OpCase attention_case(const benchmark::State& state) {
  return {Op::Attention, {{"heads", state.range(2)}}, {sequences(state, 3, 1)}, {}, "attention"};
}

void BM_Attention(benchmark::State& state) {
  run_one(state, attention_case(state), static_cast<int>(state.range(5)));
}

void BM_AttentionBackward(benchmark::State& state) {
  const OpCase before = attention_case(state);
  BuiltOp forward(cpu_table(), before, 1);
  forward.run({});
  run_one(state,
          {Op::AttentionBackward,
           before.attributes,
           {sequences(state, 1, 2), before.inputs[0], forward.outputs()[0], forward.outputs()[1]},
           {},
           "attention_backward"},
          static_cast<int>(state.range(5)));
}

void attention_arguments(benchmark::internal::Benchmark* b) {
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    for (const std::int64_t threads : {1, 2}) {
      const auto type = static_cast<std::int64_t>(element);
      b->Args({12, 64, 4, 32, type, threads});
      b->Args({32, 128, 4, 64, type, threads});
      b->Args({8, 256, 6, 64, type, threads});
    }
  }
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}

// Dense, on the shapes of gpt_thin and gpt_small. Arguments: tokens, inputs, outputs, op, element
// type, threads.

OpCase dense_case(const benchmark::State& state) {
  const auto op = static_cast<Op>(state.range(3));
  const auto element = static_cast<ElementType>(state.range(4));
  const std::int64_t batch = state.range(0), inputs = state.range(1), outputs = state.range(2);
  const Array x = in_element(random_array({batch, inputs}, 1), element);
  const Array w = in_element(random_array({outputs, inputs}, 2), element);
  const Array dy = in_element(random_array({batch, outputs}, 3), element);
  return {op, {}, {op == Op::Dense ? x : dy, op == Op::DenseBackwardWeights ? x : w}, {}, "dense"};
}

void BM_Dense(benchmark::State& state) {
  run_one(state, dense_case(state), static_cast<int>(state.range(5)));
  state.counters["FLOP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(state.range(0) * state.range(1) * state.range(2)),
      benchmark::Counter::kIsIterationInvariantRate);
}

void dense_arguments(benchmark::internal::Benchmark* b) {
  for (const Op op : {Op::Dense, Op::DenseBackwardData, Op::DenseBackwardWeights}) {
    for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
      for (const std::int64_t threads : {1, 2}) {
        const auto type = static_cast<std::int64_t>(element), pass = static_cast<std::int64_t>(op);
        for (const std::int64_t outputs : {128, 384, 512}) {
          b->Args({768, 128, outputs, pass, type, threads});
        }
        b->Args({768, 512, 128, pass, type, threads});
        b->Args({4096, 256, 1024, pass, type, threads});
      }
    }
  }
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}

// The loss of gpt_thin and gpt_small. Arguments: tokens, classes, threads.
void BM_SoftmaxCrossEntropy(benchmark::State& state) {
  const Dims shape{state.range(0), state.range(1)};
  run_one(state,
          {Op::SoftmaxCrossEntropy,
           {{"label_smoothing", 0.0}, {"divisor", state.range(0)}},
           {random_array(shape, 1), Array({ElementType::I32, {state.range(0)}})},
           {},
           "softmax_cross_entropy"},
          static_cast<int>(state.range(2)));
}

BENCHMARK(BM_Dense)->Apply(dense_arguments);
BENCHMARK(BM_SoftmaxCrossEntropy)
    ->ArgsProduct({{768, 4096}, {256}, {1, 2}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(BM_LayerNormalize)->Apply(token_arguments);
BENCHMARK(BM_LayerNormalizeBackward)->Apply(token_arguments);
BENCHMARK(BM_Attention)->Apply(attention_arguments);
BENCHMARK(BM_AttentionBackward)->Apply(attention_arguments);

}  // namespace
}  // namespace regatta::cpu::test

BENCHMARK_MAIN();
