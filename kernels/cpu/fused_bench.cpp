// SPDX-License-Identifier: Apache-2.0
//
// airbench94's normalisations, activations and poolings at batch 512 in bf16, fused and as the
// chains of single ops that they replace. Arguments: block (see kBlocks), threads. Reports the
// bytes that the fused op must read and write, and the time for an image.
#include <benchmark/benchmark.h>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/graph/fusion.h"

namespace regatta::cpu::test {
namespace {

using Activation = Fusion::Activation;
using Pool = Fusion::Pool;

constexpr std::int64_t kBatch = 512;
constexpr std::int64_t kGroup = 128;

struct Block {
  const char* name;
  std::int64_t side, channels;
  Pool pool;
};
constexpr Block kBlocks[] = {
    {"block 1, first", 31, 64, Pool::Before},  {"block 1, second", 15, 64, Pool::None},
    {"block 2, first", 15, 256, Pool::Before}, {"block 2, second", 7, 256, Pool::None},
    {"block 3, first", 7, 256, Pool::Before},  {"block 3, second", 3, 256, Pool::None}};

/// Ops that run in sequence, each on its own data; values do not matter.
class Chain {
 public:
  explicit Chain(int threads) : threads_(threads) {}

  const std::vector<Array>& add(OpCase op_case) {
    ops_.push_back(std::make_unique<BuiltOp>(cpu_table(), std::move(op_case), threads_));
    ops_.back()->run({});
    return ops_.back()->outputs();
  }

  void run(benchmark::State& state, std::int64_t bytes) {
    omp_set_num_threads(threads_);
    StepContext context;
    for (auto _ : state) {
      for (const auto& op : ops_) op->kernel().run(context);
      ++context.step;
    }
    state.SetBytesProcessed(bytes * state.iterations());
    state.counters["time_per_image"] =
        benchmark::Counter(static_cast<double>(kBatch * state.iterations()),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }

 private:
  int threads_;
  std::vector<std::unique_ptr<BuiltOp>> ops_;
};

Array activations(const Block& block, unsigned seed) {
  return to_bf16(random_array({kBatch, block.side, block.side, block.channels}, seed));
}

Attributes normalization() { return {{"group", kGroup}, {"epsilon", 1e-5}, {"momentum", 0.1}}; }

Attributes halving() {
  return {{"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{0}}};
}

std::int64_t bytes_of(const std::vector<Array>& arrays) {
  std::int64_t bytes = 0;
  for (const Array& array : arrays) bytes += array.type.bytes();
  return bytes;
}

OpCase fused(const Block& block) {
  const Dims channel{block.channels};
  OpCase op_case{Op::FusedNormalize,
                 normalization(),
                 {activations(block, 1), random_array(channel, 2), random_array(channel, 3)},
                 {random_array(channel, 4), random_array(channel, 5)},
                 block.name};
  set_fusion(op_case.attributes, {Activation::Gelu, block.pool, 2});
  return op_case;
}

void BM_FusedForward(benchmark::State& state) {
  const Block& block = kBlocks[state.range(0)];
  Chain chain(static_cast<int>(state.range(1)));
  const OpCase op_case = fused(block);
  const std::int64_t bytes = bytes_of(op_case.inputs);
  chain.run(state, bytes + bytes_of(chain.add(op_case)));
  state.SetLabel(block.name);
}

void BM_SingleForward(benchmark::State& state) {
  const Block& block = kBlocks[state.range(0)];
  Chain chain(static_cast<int>(state.range(1)));
  OpCase op_case = fused(block);
  Array x = op_case.inputs[0];
  std::int64_t bytes = x.type.bytes();
  if (block.pool != Pool::None) {
    x = chain.add({Op::MaxPool, halving(), {x}, {}, "max_pool"})[0];
    bytes += x.type.bytes() / 2 * 3;
  }
  const Array z = chain.add({Op::Normalize,
                             normalization(),
                             {x, op_case.inputs[1], op_case.inputs[2]},
                             op_case.variables,
                             "normalize"})[0];
  chain.add({Op::Gelu, {}, {z}, {}, "gelu"});
  chain.run(state, bytes + z.type.bytes());
  state.SetLabel(block.name);
}

OpCase fused_backward(const Block& block) {
  const OpCase before = fused(block);
  Chain chain(1);
  const std::vector<Array> result = chain.add(before);
  const bool pooled = block.pool != Pool::None;
  OpCase op_case{
      Op::FusedNormalizeBackward,
      {{"group", kGroup}, {"dims", before.inputs[0].type.dims}},
      {to_bf16(random_array(result[0].type.dims, 7)), pooled ? result[3] : before.inputs[0],
       before.inputs[1], before.inputs[2], result[1], result[2]},
      {},
      block.name};
  set_fusion(op_case.attributes, {Activation::Gelu, block.pool, 2});
  if (pooled) op_case.inputs.push_back(result[4]);
  return op_case;
}

void BM_FusedBackward(benchmark::State& state) {
  const Block& block = kBlocks[state.range(0)];
  Chain chain(static_cast<int>(state.range(1)));
  const OpCase op_case = fused_backward(block);
  const std::int64_t bytes = bytes_of(op_case.inputs);
  chain.run(state, bytes + bytes_of(chain.add(op_case)));
  state.SetLabel(block.name);
}

void BM_SingleBackward(benchmark::State& state) {
  const Block& block = kBlocks[state.range(0)];
  Chain chain(static_cast<int>(state.range(1)));
  const OpCase op_case = fused_backward(block);
  const std::vector<Array>& in = op_case.inputs;
  const Array dz = chain.add({Op::GeluBackward, {}, {in[0], in[1]}, {}, "gelu_backward"})[0];
  Array dx = chain.add({Op::NormalizeBackward,
                        {{"group", kGroup}},
                        {dz, in[1], in[2], in[4], in[5]},
                        {},
                        "normalize_backward"})[0];
  if (block.pool != Pool::None) {
    Attributes attributes = halving();
    attributes.set("dims", op_case.attributes.integers("dims"));
    dx = chain.add({Op::MaxPoolBackward, attributes, {dx, in[6]}, {}, "max_pool_backward"})[0];
  }
  chain.run(state, bytes_of(in) + dx.type.bytes());
  state.SetLabel(block.name);
}

// bias -> gelu after the whitening convolution. Argument: threads.

std::vector<Array> whitened() {
  const Dims dims{kBatch, 31, 31, 24};
  return {to_bf16(random_array(dims, 1)), to_bf16(random_array(dims, 2)), random_array({24}, 3)};
}

Attributes with_gelu() { return {{"activation", std::string("gelu")}}; }

void BM_FusedBias(benchmark::State& state) {
  const std::vector<Array> in = whitened();
  Chain chain(static_cast<int>(state.range(0)));
  chain.add({Op::FusedBias, with_gelu(), {in[1], in[2]}, {}, ""});
  chain.run(state, 2 * in[0].type.bytes());
}

void BM_SingleBias(benchmark::State& state) {
  const std::vector<Array> in = whitened();
  Chain chain(static_cast<int>(state.range(0)));
  const Array z = chain.add({Op::Bias, {}, {in[1], in[2]}, {}, ""})[0];
  chain.add({Op::Gelu, {}, {z}, {}, ""});
  chain.run(state, 2 * in[0].type.bytes());
}

void BM_FusedBiasBackward(benchmark::State& state) {
  Attributes attributes = with_gelu();
  attributes.set("data", std::int64_t{0});
  const std::vector<Array> in = whitened();
  Chain chain(static_cast<int>(state.range(0)));
  chain.add({Op::FusedBiasBackward, attributes, in, {}, ""});
  chain.run(state, 2 * in[0].type.bytes());
}

void BM_SingleBiasBackward(benchmark::State& state) {
  const std::vector<Array> in = whitened();
  Chain chain(static_cast<int>(state.range(0)));
  const Array dz = chain.add({Op::GeluBackward, {}, {in[0], in[1]}, {}, ""})[0];
  chain.add({Op::BiasBackward, {}, {dz}, {}, ""});
  chain.run(state, 2 * in[0].type.bytes());
}

void blocks(benchmark::internal::Benchmark* b) {
  for (std::int64_t block = 0; block < 6; ++block) b->Args({block, 2});
  b->UseRealTime();
}
void threads(benchmark::internal::Benchmark* b) { b->Arg(2)->UseRealTime(); }

BENCHMARK(BM_FusedForward)->Apply(blocks);
BENCHMARK(BM_FusedBackward)->Apply(blocks);
BENCHMARK(BM_SingleForward)->Apply(blocks);
BENCHMARK(BM_SingleBackward)->Apply(blocks);
BENCHMARK(BM_FusedBias)->Apply(threads);
BENCHMARK(BM_FusedBiasBackward)->Apply(threads);
BENCHMARK(BM_SingleBias)->Apply(threads);
BENCHMARK(BM_SingleBiasBackward)->Apply(threads);

}  // namespace
}  // namespace regatta::cpu::test

BENCHMARK_MAIN();
