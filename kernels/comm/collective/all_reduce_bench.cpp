// SPDX-License-Identifier: Apache-2.0
//
// In-process all-reduce between threads, by algorithm, members and size. bytes_per_second is the
// bus bandwidth of nccl-tests: 2 (n - 1) / n of the buffer divided by the time of one all-reduce.
#include <benchmark/benchmark.h>

#include <thread>

#include "kernels/comm/collective/all_reduce.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/affinity.h"

namespace regatta::comm {
namespace {

/// The group and the buffers of one benchmark, made by its first thread.
struct Arena {
  Arena(const std::string& algorithm, std::int64_t members, std::int64_t elements)
      : group({.algorithm = algorithm, .members = members}),
        buffers(static_cast<std::size_t>(members),
                std::vector<float>(static_cast<std::size_t>(elements), 0.0F)) {
    for (std::int64_t m = 0; m < members; ++m) {
      group.join(m, buffers[static_cast<std::size_t>(m)].data(), elements);
    }
  }
  AllReduceGroup group;
  std::vector<std::vector<float>> buffers;
};

void all_reduce(benchmark::State& state, const std::string& algorithm) {
  static std::unique_ptr<Arena> arena;
  const std::int64_t members = state.threads();
  const std::int64_t bytes = state.range(0);
  if (state.thread_index() == 0) {
    arena = std::make_unique<Arena>(algorithm, members, bytes / 4);
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  if (members <= cores) pin_thread({state.thread_index()});
  const Patience patience{.abort = nullptr, .spins = members <= cores ? 400 : 0};
  WaitClock waits;
  std::int64_t received = 0;
  const AllReduceGroup::Observer observer{
      .peer_waits = &waits,
      .received = [&](std::int64_t, std::int64_t count) { received += count; }};
  for (auto _ : state) arena->group.run(state.thread_index(), patience, observer);
  if (state.thread_index() == 0) {
    state.SetBytesProcessed(state.iterations() * 2 * (members - 1) * bytes / members);
    state.SetLabel(algorithm);
  }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(4)->Range(4 << 10, 64 << 20)->UseRealTime()->Threads(2);
}

BENCHMARK_CAPTURE(all_reduce, ring, std::string(kRing))->Apply(sizes);
BENCHMARK_CAPTURE(all_reduce, reduce_to_one, std::string(kReduceToOne))->Apply(sizes);
BENCHMARK_CAPTURE(all_reduce, hierarchical_copy, std::string(kHierarchicalCopy))->Apply(sizes);

/// Sizes for four members, the fewest for which topologies differ.
void sizes_of_four(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(4)->Range(4 << 10, 4 << 20)->UseRealTime()->Threads(4);
}

BENCHMARK_CAPTURE(all_reduce, ring_of_four, std::string(kRing))->Apply(sizes_of_four);
BENCHMARK_CAPTURE(all_reduce, double_tree, std::string(kDoubleTree))->Apply(sizes_of_four);
BENCHMARK_CAPTURE(all_reduce, torus, std::string(kTorus))->Apply(sizes_of_four);

}  // namespace
}  // namespace regatta::comm

BENCHMARK_MAIN();
