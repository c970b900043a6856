// SPDX-License-Identifier: Apache-2.0
//
// Regatta's side of ci/peers/compare_all_reduce, by the protocols of ci/peers/mpi_all_reduce.cpp:
// ring all-reduces in place between two threads, each pinned to a core, after five calls to warm
// up. Prints a line for each size: bytes, and the seconds of one call as the median of single
// calls, each after a barrier, and as the median over blocks of the mean of calls back to back.
//   all_reduce_times 4096 65536 ...
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kernels/comm/collective/all_reduce.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/affinity.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

constexpr int kMembers = 2;
constexpr int kWarmUp = 5;
constexpr int kBlocks = 5;

double median_seconds(std::vector<std::int64_t> times_ns) {
  std::sort(times_ns.begin(), times_ns.end());
  return static_cast<double>(times_ns[times_ns.size() / 2]) * 1e-9;
}

/// Two members, each with a thread and a buffer.
class Pair {
 public:
  explicit Pair(std::int64_t bytes)
      : group_({.algorithm = std::string(kRing), .members = kMembers}),
        buffers_(kMembers, std::vector<float>(static_cast<std::size_t>(bytes / 4))) {
    for (int m = 0; m < kMembers; ++m) {
      group_.join(m, buffers_[static_cast<std::size_t>(m)].data(), bytes / 4);
    }
  }

  /// Seconds of one call: the median over `blocks` blocks of `calls` calls, a barrier before each.
  double seconds_of_call(int blocks, int calls) {
    std::atomic<int> arrived{0};
    std::vector<std::int64_t> times;
    std::thread other([&] { run(1, blocks, calls, arrived); });
    std::thread first([&] { times = run(0, blocks, calls, arrived); });
    other.join();
    first.join();
    return median_seconds(times) / calls;
  }

 private:
  /// The times of the blocks in nanoseconds, without those that warm up.
  std::vector<std::int64_t> run(int member, int blocks, int calls, std::atomic<int>& arrived) {
    pin_thread({member});
    WaitClock waits;
    const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                            .received = [](std::int64_t, std::int64_t) {}};
    const Patience patience{.abort = nullptr, .spins = 400};
    for (int call = 0; call < kWarmUp; ++call) group_.run(member, patience, observer);
    std::vector<std::int64_t> times;
    for (int block = 0; block < blocks; ++block) {
      arrived.fetch_add(1);
      while (arrived.load() < (block + 1) * kMembers) {
      }
      const std::int64_t begin = now_ns();
      for (int call = 0; call < calls; ++call) group_.run(member, patience, observer);
      times.push_back(now_ns() - begin);
    }
    return times;
  }

  AllReduceGroup group_;
  std::vector<std::vector<float>> buffers_;
};

}  // namespace
}  // namespace regatta

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    if (bytes < 8) {
      std::fprintf(stderr, "usage: all_reduce_times BYTES...\n");
      return 1;
    }
    const int repeats = static_cast<int>(std::clamp(200'000'000L / bytes, 15L, 2000L));
    regatta::Pair pair(bytes);
    const double single = pair.seconds_of_call(repeats, 1);
    const double back_to_back =
        pair.seconds_of_call(regatta::kBlocks, std::max(repeats / regatta::kBlocks, 3));
    std::printf("%ld %.9f %.9f\n", bytes, single, back_to_back);
  }
  return 0;
}
