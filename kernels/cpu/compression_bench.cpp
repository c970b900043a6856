// SPDX-License-Identifier: Apache-2.0
//
// Kernels of compressed exchanges on one thread, compared with BM_Memcpy of as many elements.
// Reports the bytes a second that they must read and write.
#include <benchmark/benchmark.h>

#include <cstring>

#include "kernels/cpu/timed_ops_for_test.h"

namespace regatta::cpu::test {
namespace {

// Shapes of the largest weights of resnet9_thin, [128, 3 * 3 * 128], and of resnet9.

constexpr std::int64_t kThinRows = 128, kThinColumns = 1152;
constexpr std::int64_t kRows = 512, kColumns = 4608;

void BM_Memcpy(benchmark::State& state) {
  const Array from = random_array({state.range(0)}, 1);
  Array to = from;
  for (auto _ : state) {
    std::memcpy(to.f32(), from.f32(), static_cast<std::size_t>(from.type.bytes()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(2 * from.type.bytes() * state.iterations());
}
BENCHMARK(BM_Memcpy)->Arg(kThinRows* kThinColumns)->Arg(kRows* kColumns);

/// Arguments: elements, and the elements in a thousand that are selected.
void BM_TopK(benchmark::State& state) {
  const std::int64_t elements = state.range(0), count = elements * state.range(1) / 1000;
  run_one(state, {Op::TopK, {{"count", count}}, {random_array({elements}, 1)}, {}, "top_k"}, 1);
}
BENCHMARK(BM_TopK)->ArgsProduct({{kThinRows * kThinColumns, kRows* kColumns}, {10, 100}});

/// Adds the selections of two workers, with ascending indices. Arguments as for BM_TopK.
void BM_ScatterAdd(benchmark::State& state) {
  const std::int64_t elements = state.range(0), count = elements * state.range(1) / 1000;
  Array selected = random_array({2 * 2 * count}, 1);
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    const std::int64_t worker = i / count, at = i % count;
    const auto index = static_cast<std::int32_t>(at * elements / count);
    std::memcpy(selected.f32() + worker * 2 * count + count + at, &index, sizeof index);
  }
  const Attributes attributes{{"count", count}, {"dims", std::vector<std::int64_t>{elements}}};
  run_one(state, {Op::ScatterAdd, attributes, {selected}, {}, "scatter_add"}, 1);
}
BENCHMARK(BM_ScatterAdd)->ArgsProduct({{kThinRows * kThinColumns, kRows* kColumns}, {10, 100}});

/// Arguments: the product of powersgd.cpp (M Q, M^T P or P Q^T); rows and columns of M; rank.
void BM_PowerSgd(benchmark::State& state) {
  constexpr Op kProducts[] = {Op::Dense, Op::DenseBackwardWeights, Op::DenseBackwardData};
  constexpr const char* kNames[] = {"M Q", "M^T P", "P Q^T"};
  const auto product = static_cast<std::size_t>(state.range(0));
  const std::int64_t rows = state.range(1), columns = state.range(2), rank = state.range(3);
  const Array matrix = random_array({rows, columns}, 1);
  const Array left = random_array({rows, rank}, 2), right = random_array({rank, columns}, 3);
  const std::vector<Array> inputs[] = {{matrix, right}, {left, matrix}, {left, right}};
  run_one(state, {kProducts[product], {}, inputs[product], {}, kNames[product]}, 1);
  state.SetLabel(kNames[product]);
}
void products(benchmark::internal::Benchmark* benchmark) {
  for (std::int64_t product = 0; product < 3; ++product) {
    for (const std::int64_t rank : {1, 2, 4}) {
      benchmark->Args({product, kThinRows, kThinColumns, rank});
      benchmark->Args({product, kRows, kColumns, rank});
    }
  }
}
BENCHMARK(BM_PowerSgd)->Apply(products);

/// Arguments: rows, rank.
void BM_Orthogonalize(benchmark::State& state) {
  const Array matrix = random_array({state.range(0), state.range(1)}, 1);
  run_one(state, {Op::Orthogonalize, {}, {matrix}, {}, "orthogonalize"}, 1);
}
BENCHMARK(BM_Orthogonalize)->ArgsProduct({{kThinRows, kRows}, {1, 2, 4}});

}  // namespace
}  // namespace regatta::cpu::test

BENCHMARK_MAIN();
