// SPDX-License-Identifier: Apache-2.0
//
// Our side of ci/peers/compare_all_reduce, by the protocol of ci/peers/mpi_all_reduce.cpp: a
// barrier, then one timed ring all-reduce in place between two threads, pinned to a core each; five
// calls to warm up. Prints a line a size: bytes, median seconds of one call.
//   all_reduce_times 4096 65536 ...
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kernels/comm/all_reduce.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/affinity.h"
#include "kernels/runtime/clock.h"

namespace regatta {
namespace {

constexpr std::int64_t kMembers = 2;
constexpr int kWarmUp = 5;

/// Median seconds of one call at member 0.
double median_seconds(std::int64_t bytes) {
  const int repeats = static_cast<int>(std::clamp(200'000'000 / bytes, 15L, 2000L));
  AllReduceGroup group(std::string(kRing), kMembers, 0);
  std::vector<std::vector<float>> buffers(kMembers,
                                          std::vector<float>(static_cast<std::size_t>(bytes / 4)));
  for (std::int64_t m = 0; m < kMembers; ++m) {
    group.join(m, buffers[static_cast<std::size_t>(m)].data(), bytes / 4);
  }
  std::atomic<std::int64_t> arrived{0};
  std::vector<std::int64_t> times;
  const auto member = [&](std::int64_t m) {
    pin_thread({static_cast<int>(m)});
    WaitClock waits;
    const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                            .received = [](std::int64_t, std::int64_t) {}};
    const Patience patience{.abort = nullptr, .spins = 400};
    for (int r = 0; r < repeats + kWarmUp; ++r) {
      arrived.fetch_add(1);
      while (arrived.load() < (r + 1) * kMembers) {
      }
      const std::int64_t begin = now_ns();
      group.run(m, patience, observer);
      if (m == 0 && r >= kWarmUp) times.push_back(now_ns() - begin);
    }
  };
  std::thread other(member, 1);
  std::thread first(member, 0);
  other.join();
  first.join();
  std::sort(times.begin(), times.end());
  return static_cast<double>(times[times.size() / 2]) * 1e-9;
}

}  // namespace
}  // namespace regatta

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    if (bytes < 8) {
      std::fprintf(stderr, "usage: all_reduce_times BYTES...\n");
      return 1;
    }
    std::printf("%ld %.9f\n", bytes, regatta::median_seconds(bytes));
  }
  return 0;
}
