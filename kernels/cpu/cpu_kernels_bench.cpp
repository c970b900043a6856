// SPDX-License-Identifier: Apache-2.0
//
// Times of single ops on the shapes of resnet9, resnet9_thin and the parabola. Arguments end in the
// number of threads; memory-bound ops report the bytes that they must read and write.
//   BM_Parabola       the tiny ops, and all kernels of a step in order
//   compare_dense     plain loops against oneDNN, from which kSmallProduct was chosen
//   BM_Convolution    the convolutions of a network, summed by pass
#include <benchmark/benchmark.h>

#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/timed_ops_for_test.h"

namespace regatta::cpu::test {
namespace {

// The parabola: 50 points, 1 -> 5 tanh -> 1.

Attributes sgd_attributes(double momentum) {
  return {{"momentum", momentum},
          {"nesterov", std::int64_t{momentum != 0}},
          {"weight_decay", momentum != 0 ? 5e-4 : 0},
          {"weight", 1.0},
          {"schedule_examples", std::vector<double>{0}},
          {"schedule_values", std::vector<double>{0.01}}};
}

OpCase sgd(const Dims& dims, double momentum) {
  return {Op::Sgd,
          sgd_attributes(momentum),
          {random_array(dims, 1)},
          {random_array(dims, 2), random_array(dims, 3)},
          "sgd"};
}

/// The nodes of a step, each with its own data; values do not affect the time.
std::vector<OpCase> parabola_step() {
  const Array x = random_array({50, 1}, 1), hidden = random_array({50, 5}, 2);
  const Array w1 = random_array({5, 1}, 3), w2 = random_array({1, 5}, 4);
  const Array b1 = random_array({5}, 5), b2 = random_array({1}, 6);
  const Attributes mean{{"divisor", std::int64_t{50}}};
  return {{Op::Dense, {}, {x, w1}, {}, "dense 1 -> 5"},
          {Op::Bias, {}, {hidden, b1}, {}, "bias 5"},
          {Op::Tanh, {}, {hidden}, {}, "tanh"},
          {Op::Dense, {}, {hidden, w2}, {}, "dense 5 -> 1"},
          {Op::Bias, {}, {x, b2}, {}, "bias 1"},
          {Op::MeanSquaredError, mean, {x, x}, {}, "mean_squared_error"},
          {Op::MeanSquaredErrorBackward, mean, {x, x}, {}, "mean_squared_error_backward"},
          {Op::BiasBackward, {}, {x}, {}, "bias_backward 1"},
          {Op::DenseBackwardWeights, {}, {x, hidden}, {}, "dense_backward_weights 5 -> 1"},
          {Op::DenseBackwardData, {}, {x, w2}, {}, "dense_backward_data 5 -> 1"},
          {Op::TanhBackward, {}, {hidden, hidden}, {}, "tanh_backward"},
          {Op::BiasBackward, {}, {hidden}, {}, "bias_backward 5"},
          {Op::DenseBackwardWeights, {}, {hidden, x}, {}, "dense_backward_weights 1 -> 5"},
          sgd({5, 1}, 0),
          sgd({5}, 0),
          sgd({1, 5}, 0),
          sgd({1}, 0)};
}

void BM_ParabolaOp(benchmark::State& state) {
  const OpCase op_case = parabola_step()[static_cast<std::size_t>(state.range(0))];
  run_one(state, op_case, 1);
  state.SetLabel(op_case.name);
}
BENCHMARK(BM_ParabolaOp)->DenseRange(0, 13);

void BM_ParabolaStep(benchmark::State& state) {
  std::vector<std::unique_ptr<BuiltOp>> ops;
  for (const OpCase& op_case : parabola_step()) {
    ops.push_back(std::make_unique<BuiltOp>(cpu_table(), op_case, 1));
  }
  run_all(state, ops, 1);
}
BENCHMARK(BM_ParabolaStep);

// Both paths of dense on sizes around kSmallProduct. Arguments: batch, inputs, outputs.

void compare_dense(benchmark::State& state, Op op, KernelFactory factory) {
  const std::int64_t batch = state.range(0), inputs = state.range(1), outputs = state.range(2);
  KernelTable table("one path");
  table.add(op, std::move(factory));
  const Array x = random_array({batch, inputs}, 1), w = random_array({outputs, inputs}, 2);
  const Array dy = random_array({batch, outputs}, 3);
  const bool forward = op == Op::Dense;
  std::vector<std::unique_ptr<BuiltOp>> ops;
  ops.push_back(std::make_unique<BuiltOp>(
      table, OpCase{op, {}, {forward ? x : dy, op == Op::DenseBackwardWeights ? x : w}, {}, ""},
      1));
  run_all(state, ops, 1);
  state.SetLabel(std::to_string(batch * inputs * outputs) + " multiply-adds");
}

void dense_arguments(benchmark::internal::Benchmark* b) {
  b->Args({50, 1, 5})->Args({50, 5, 1})->Args({50, 8, 8})->Args({16, 16, 16})->Args({4, 64, 10});
  b->Args({64, 16, 16})->Args({50, 64, 10});
}
BENCHMARK_CAPTURE(compare_dense, small, Op::Dense, dense_small)->Apply(dense_arguments);
BENCHMARK_CAPTURE(compare_dense, large, Op::Dense, dense_large)->Apply(dense_arguments);
BENCHMARK_CAPTURE(compare_dense, small_backward_data, Op::DenseBackwardData,
                  dense_small_backward_data)
    ->Apply(dense_arguments);
BENCHMARK_CAPTURE(compare_dense, large_backward_data, Op::DenseBackwardData,
                  dense_large_backward_data)
    ->Apply(dense_arguments);
BENCHMARK_CAPTURE(compare_dense, small_backward_weights, Op::DenseBackwardWeights,
                  dense_small_backward_weights)
    ->Apply(dense_arguments);
BENCHMARK_CAPTURE(compare_dense, large_backward_weights, Op::DenseBackwardWeights,
                  dense_large_backward_weights)
    ->Apply(dense_arguments);

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

void BM_Relu(benchmark::State& state) {
  run_memory_bound(state, {Op::Relu, {}, {activations(state, 1)}, {}, "relu"});
}

void BM_ReluBackward(benchmark::State& state) {
  run_memory_bound(
      state,
      {Op::ReluBackward, {}, {activations(state, 1), activations(state, 2)}, {}, "relu_backward"});
}

void BM_Gelu(benchmark::State& state) {
  run_memory_bound(state, {Op::Gelu, {}, {activations(state, 1)}, {}, "gelu"});
}

void BM_GeluBackward(benchmark::State& state) {
  run_memory_bound(
      state,
      {Op::GeluBackward, {}, {activations(state, 1), activations(state, 2)}, {}, "gelu_backward"});
}

void BM_Add(benchmark::State& state) {
  run_memory_bound(state, {Op::Add, {}, {activations(state, 1), activations(state, 2)}, {}, "add"});
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
BENCHMARK(BM_Relu)->Apply(memory_bound_arguments);
BENCHMARK(BM_ReluBackward)->Apply(memory_bound_arguments);
BENCHMARK(BM_Gelu)->Apply(memory_bound_arguments);
BENCHMARK(BM_GeluBackward)->Apply(memory_bound_arguments);
BENCHMARK(BM_Add)->Apply(memory_bound_arguments);
BENCHMARK(BM_Normalize)->Apply(memory_bound_arguments);
BENCHMARK(BM_NormalizeBackward)->Apply(memory_bound_arguments);
BENCHMARK(BM_MaxPool)->Apply(memory_bound_arguments);
BENCHMARK(BM_MaxPoolBackward)->Apply(memory_bound_arguments);

/// All parameters of resnet9 (6.6 million) in one update; argument: threads.
void BM_Sgd(benchmark::State& state) {
  const OpCase op_case = sgd({6'573'120}, 0.9);
  run_one(state, op_case, static_cast<int>(state.range(0)));
  // Each update reads gradient, parameter and velocity, and writes the last two.
  state.SetBytesProcessed(5 * op_case.inputs[0].type.bytes() * state.iterations());
}
BENCHMARK(BM_Sgd)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace regatta::cpu::test

BENCHMARK_MAIN();
