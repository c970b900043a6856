// SPDX-License-Identifier: Apache-2.0
//
// The convolutions of airbench94 and ResNet-9: each pass by each implementation
// (convolution_paths.h) that this processor supports. These measurements set the conditions of the
// implementations. Runs are in bf16 unless the name contains f32. The label gives the layer as
// side, inputs -> outputs. Arguments: index of the layer, batch, threads.
#include <benchmark/benchmark.h>

#include <span>
#include <string>

#include "kernels/cpu/amx.h"
#include "kernels/cpu/built_op_for_test.h"
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

OpCase case_of(const Layer& layer, std::int64_t batch, Op op, ElementType element) {
  const auto as_element = [element](const Array& array) {
    return element == ElementType::BF16 ? to_bf16(array) : array;
  };
  const std::int64_t side = layer.result_side();
  const Array x = as_element(random_array({batch, layer.side, layer.side, layer.inputs}, 1));
  const Array w =
      as_element(random_array({layer.outputs, layer.kernel, layer.kernel, layer.inputs}, 2));
  const Array dy = as_element(random_array({batch, side, side, layer.outputs}, 3));
  Attributes attributes{
      {"kernel", layer.kernel}, {"stride", std::int64_t{1}}, {"padding", layer.padding}};
  if (op == Op::Convolution) return {op, attributes, {x, w}, {}, ""};
  const bool data = op == Op::ConvolutionBackwardData;
  attributes.set("dims", data ? x.type.dims : w.type.dims);
  if (data) attributes.set("images", std::int64_t{1});
  return {op, attributes, {dy, data ? w : x}, {}, ""};
}

struct Network {
  std::string name;
  std::span<const Layer> layers;
  std::int64_t batch;
};

/// Requirements of an implementation beyond instructions for its elements.
enum class Needs : std::uint8_t { Nothing, Amx, AmxAndMultiplesOf32 };

struct Way {
  std::string name;
  Op op;
  KernelPointer (*factory)(const KernelRequest&);
  Needs needs = Needs::Nothing;
  ElementType element = ElementType::BF16;

  bool takes(const Layer& layer) const {
    if (element == ElementType::BF16 && !has_avx512()) return false;
    if (needs != Needs::Nothing && !has_amx_bf16()) return false;
    return needs != Needs::AmxAndMultiplesOf32 ||
           (layer.inputs % 32 == 0 && layer.outputs % 32 == 0);
  }
};

const Way kWays[] = {
    {"forward_onednn", Op::Convolution, convolution_onednn},
    {"forward_pixels", Op::Convolution, convolution_pixels, Needs::AmxAndMultiplesOf32},
    {"backward_data_onednn", Op::ConvolutionBackwardData, convolution_backward_data_onednn},
    {"backward_data_flipped", Op::ConvolutionBackwardData, convolution_backward_data_flipped,
     Needs::Amx},
    {"backward_data_pixels", Op::ConvolutionBackwardData, convolution_backward_data_pixels,
     Needs::AmxAndMultiplesOf32},
    {"backward_weights_onednn", Op::ConvolutionBackwardWeights,
     convolution_backward_weights_onednn},
    {"backward_weights_tiles", Op::ConvolutionBackwardWeights, convolution_backward_weights_tiles,
     Needs::Amx},
    {"forward_winograd", Op::Convolution, convolution_winograd},
    {"backward_data_winograd", Op::ConvolutionBackwardData, convolution_backward_data_winograd},
    {"backward_weights_winograd", Op::ConvolutionBackwardWeights,
     convolution_backward_weights_winograd},
    {"forward_f32_onednn", Op::Convolution, convolution_onednn, Needs::Nothing, ElementType::F32},
    {"forward_f32_winograd", Op::Convolution, convolution_winograd, Needs::Nothing,
     ElementType::F32},
    {"backward_data_f32_onednn", Op::ConvolutionBackwardData, convolution_backward_data_onednn,
     Needs::Nothing, ElementType::F32},
    {"backward_data_f32_winograd", Op::ConvolutionBackwardData, convolution_backward_data_winograd,
     Needs::Nothing, ElementType::F32},
    {"backward_weights_f32_onednn", Op::ConvolutionBackwardWeights,
     convolution_backward_weights_onednn, Needs::Nothing, ElementType::F32},
    {"backward_weights_f32_winograd", Op::ConvolutionBackwardWeights,
     convolution_backward_weights_winograd, Needs::Nothing, ElementType::F32}};

void run(benchmark::State& state, const Layer& layer, const Way& way) {
  const std::int64_t batch = state.range(1);
  KernelTable table("one way");
  table.add(way.op, way.factory);
  BuiltOp built(table, case_of(layer, batch, way.op, way.element),
                static_cast<int>(state.range(2)));
  for (auto _ : state) built.run({});
  const std::int64_t side = layer.result_side();
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(batch * side * side * layer.kernel *
                                                   layer.kernel * layer.inputs * layer.outputs),
                         benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(std::to_string(layer.side) + ", " + std::to_string(layer.inputs) + " -> " +
                 std::to_string(layer.outputs));
}

void add(const Network& network, const Way& way) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (!way.takes(layer)) continue;
    benchmark::RegisterBenchmark((network.name + '/' + way.name).c_str(),
                                 [layer, way](benchmark::State& state) { run(state, layer, way); })
        ->Args({static_cast<std::int64_t>(i), network.batch, 2})
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
}

void add_all() {
  const Network networks[] = {{"airbench94", kAirbench94, 256},
                              {"resnet9", kResNet9, 128},
                              {"resnet9_thin", kResNet9Thin, 128}};
  add({"whitening", std::span(&kWhitening, 1), 256}, kWays[0]);
  for (const Network& network : networks) {
    for (const Way& way : kWays) add(network, way);
  }
}

}  // namespace
}  // namespace regatta::cpu::test

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  regatta::cpu::test::add_all();
  benchmark::RunSpecifiedBenchmarks();
}
