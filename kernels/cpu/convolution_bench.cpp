// SPDX-License-Identifier: Apache-2.0
//
// The convolutions of airbench94 and ResNet-9 in bf16, each pass by each way that computes it
// (convolution_paths.h): where the conditions of our own ways come from. The label names the layer
// as side, inputs -> outputs. Arguments: index of the layer, batch, threads.
#include <benchmark/benchmark.h>

#include "kernels/cpu/built_op.h"
#include "kernels/cpu/convolution_paths.h"

namespace regatta::cpu::test {
namespace {

struct Layer {
  std::int64_t side, inputs, outputs;
  std::int64_t kernel = 3, padding = 1;

  std::int64_t result_side() const { return side + 2 * padding - kernel + 1; }
};

constexpr Layer kAirbench94[] = {{31, 24, 64},  {15, 64, 64},  {15, 64, 256},
                                 {7, 256, 256}, {7, 256, 256}, {3, 256, 256}};
constexpr Layer kWhitening{32, 3, 24, 2, 0};
constexpr Layer kResNet9[] = {
    {32, 64, 128}, {16, 128, 128}, {16, 128, 256}, {8, 256, 512}, {4, 512, 512}};
constexpr Layer kResNet9Thin[] = {
    {32, 16, 32}, {16, 32, 32}, {16, 32, 64}, {8, 64, 128}, {4, 128, 128}};

OpCase case_of(const Layer& layer, std::int64_t batch, Op op) {
  const std::int64_t side = layer.result_side();
  const Array x = to_bf16(random_array({batch, layer.side, layer.side, layer.inputs}, 1));
  const Array w =
      to_bf16(random_array({layer.outputs, layer.kernel, layer.kernel, layer.inputs}, 2));
  const Array dy = to_bf16(random_array({batch, side, side, layer.outputs}, 3));
  Attributes attributes{
      {"kernel", layer.kernel}, {"stride", std::int64_t{1}}, {"padding", layer.padding}};
  if (op == Op::Convolution) return {op, attributes, {x, w}, {}, ""};
  const bool data = op == Op::ConvolutionBackwardData;
  attributes.set("dims", data ? x.type.dims : w.type.dims);
  if (data) attributes.set("images", std::int64_t{1});
  return {op, attributes, {dy, data ? w : x}, {}, ""};
}

void run(benchmark::State& state, const Layer& layer, Op op, KernelFactory factory) {
  const std::int64_t batch = state.range(1);
  KernelTable table("one way");
  table.add(op, std::move(factory));
  BuiltOp built(table, case_of(layer, batch, op), static_cast<int>(state.range(2)));
  for (auto _ : state) built.run({});
  const std::int64_t side = layer.result_side();
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(batch * side * side * layer.kernel *
                                                   layer.kernel * layer.inputs * layer.outputs),
                         benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(std::to_string(layer.side) + ", " + std::to_string(layer.inputs) + " -> " +
                 std::to_string(layer.outputs));
}

void airbench94(benchmark::State& state, Op op, KernelFactory factory) {
  run(state, kAirbench94[state.range(0)], op, std::move(factory));
}

void resnet9(benchmark::State& state, Op op, KernelFactory factory) {
  run(state, kResNet9[state.range(0)], op, std::move(factory));
}

void resnet9_thin(benchmark::State& state, Op op, KernelFactory factory) {
  run(state, kResNet9Thin[state.range(0)], op, std::move(factory));
}

void whitening(benchmark::State& state) {
  run(state, kWhitening, Op::Convolution, convolution_onednn);
}
BENCHMARK(whitening)->Args({0, 256, 2})->Unit(benchmark::kMillisecond)->UseRealTime();

/// The first layer of airbench94 and of resnet9_thin has channels that pixels do not take: kFirst.
template <std::int64_t kLayers, std::int64_t kBatch, std::int64_t kFirst = 0>
void arguments(benchmark::internal::Benchmark* b) {
  for (std::int64_t layer = kFirst; layer < kLayers; ++layer) b->Args({layer, kBatch, 2});
  b->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK_CAPTURE(airbench94, forward_onednn, Op::Convolution, convolution_onednn)
    ->Apply(arguments<6, 256>);
BENCHMARK_CAPTURE(airbench94, forward_pixels, Op::Convolution, convolution_pixels)
    ->Apply(arguments<6, 256, 1>);
BENCHMARK_CAPTURE(airbench94, backward_data_onednn, Op::ConvolutionBackwardData,
                  convolution_backward_data_onednn)
    ->Apply(arguments<6, 256>);
BENCHMARK_CAPTURE(airbench94, backward_data_flipped, Op::ConvolutionBackwardData,
                  convolution_backward_data_flipped)
    ->Apply(arguments<6, 256>);
BENCHMARK_CAPTURE(airbench94, backward_data_pixels, Op::ConvolutionBackwardData,
                  convolution_backward_data_pixels)
    ->Apply(arguments<6, 256, 1>);
BENCHMARK_CAPTURE(airbench94, backward_weights_onednn, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_onednn)
    ->Apply(arguments<6, 256>);
BENCHMARK_CAPTURE(airbench94, backward_weights_tiles, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_tiles)
    ->Apply(arguments<6, 256>);

BENCHMARK_CAPTURE(resnet9, forward_onednn, Op::Convolution, convolution_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, forward_pixels, Op::Convolution, convolution_pixels)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, backward_data_onednn, Op::ConvolutionBackwardData,
                  convolution_backward_data_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, backward_data_flipped, Op::ConvolutionBackwardData,
                  convolution_backward_data_flipped)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, backward_data_pixels, Op::ConvolutionBackwardData,
                  convolution_backward_data_pixels)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, backward_weights_onednn, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9, backward_weights_tiles, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_tiles)
    ->Apply(arguments<5, 128>);

BENCHMARK_CAPTURE(resnet9_thin, forward_onednn, Op::Convolution, convolution_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9_thin, forward_pixels, Op::Convolution, convolution_pixels)
    ->Apply(arguments<5, 128, 1>);
BENCHMARK_CAPTURE(resnet9_thin, backward_data_onednn, Op::ConvolutionBackwardData,
                  convolution_backward_data_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9_thin, backward_data_flipped, Op::ConvolutionBackwardData,
                  convolution_backward_data_flipped)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9_thin, backward_data_pixels, Op::ConvolutionBackwardData,
                  convolution_backward_data_pixels)
    ->Apply(arguments<5, 128, 1>);
BENCHMARK_CAPTURE(resnet9_thin, backward_weights_onednn, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_onednn)
    ->Apply(arguments<5, 128>);
BENCHMARK_CAPTURE(resnet9_thin, backward_weights_tiles, Op::ConvolutionBackwardWeights,
                  convolution_backward_weights_tiles)
    ->Apply(arguments<5, 128>);

}  // namespace
}  // namespace regatta::cpu::test

BENCHMARK_MAIN();
