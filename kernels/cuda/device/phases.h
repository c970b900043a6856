// SPDX-License-Identifier: Apache-2.0
//
// Runs several bodies of blocks (launch.h), called phases, in one launch. The whole grid waits
// between two phases, so each can read the results of the previous one. The launch has as many
// blocks as the GPU runs at once; each takes several blocks of a body in turn. For .cu files only.
//   enqueue_phases<residents>(queue, threads, shared_bytes, Phase{blocks, body}, ...)
// Source: CUDA C++ Programming Guide, Cooperative Groups, Grid Synchronization.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/launch.h"

namespace regatta::cuda {

/// A function that each block of a grid runs, and the number of blocks.
template <class Body>
struct Phase {
  std::int64_t blocks;
  Body body;
};
template <class Body>
Phase(std::int64_t, Body) -> Phase<Body>;

/// Two independent bodies that run in one phase.
template <class First, class Second>
struct Beside {
  std::int64_t blocks_of_first;
  First first;
  Second second;

  __host__ __device__ void operator()(Block block) const {
    if (block.index < blocks_of_first) return first(block);
    block.index -= blocks_of_first;
    second(block);
  }
};

template <class First, class Second>
Phase<Beside<First, Second>> beside(const Phase<First>& first, const Phase<Second>& second) {
  return {first.blocks + second.blocks, {first.blocks, first.body, second.body}};
}

/// Makes a body of blocks from a body of elements: the threads of the blocks call body(i) for i in
/// [0, n).
template <class Body>
struct Elements {
  std::int64_t n;
  Body body;

  __host__ __device__ void operator()(const Block& block) const {
    block.each([&](int thread) {
      const std::int64_t i = block.index * block.threads + thread;
      if (i < n) body(i);
    });
  }
};

template <class Body>
Phase<Elements<Body>> elements(std::int64_t n, int threads, const Body& body) {
  return {(n + threads - 1) / threads, {n, body}};
}

namespace detail {

inline constexpr int kPhaseThreads = 256;  ///< most threads of a block

/// A list of phases; a tuple cannot be an argument of a kernel.
template <class First, class... Rest>
struct PhaseList {
  Phase<First> first;
  PhaseList<Rest...> rest;
};
template <class Last>
struct PhaseList<Last> {
  Phase<Last> first;
};

template <class First>
PhaseList<First> list_of(const Phase<First>& first) {
  return {first};
}
template <class First, class... Rest>
PhaseList<First, Rest...> list_of(const Phase<First>& first, const Phase<Rest>&... rest) {
  return {first, list_of(rest...)};
}

template <class... Bodies>
std::int64_t most_blocks(const Phase<Bodies>&... phases) {
  return std::max({phases.blocks...});
}

#ifdef __CUDACC__
template <class First, class... Rest>
__device__ void run_list(const PhaseList<First, Rest...>& list, Block block) {
  for (std::int64_t index = blockIdx.x; index < list.first.blocks; index += gridDim.x) {
    block.index = index;
    list.first.body(block);
  }
  if constexpr (sizeof...(Rest) > 0) {
    cooperative_groups::this_grid().sync();
    run_list(list.rest, block);
  }
}

template <int kBlocks, class List>
__global__ void __launch_bounds__(kPhaseThreads, kBlocks) run_phases(List list) {
  extern __shared__ __align__(16) char shared[];
  run_list(list, {.index = 0, .threads = static_cast<int>(blockDim.x), .shared = shared});
}

template <int kBlocks, class List>
struct NotedPhases {
  static inline const bool value =
      note_kernel(reinterpret_cast<const void*>(&run_phases<kBlocks, List>));
};

/// Returns the number of blocks of run_phases<kBlocks, List> that the current GPU can run at once;
/// it is the same for every launch.
template <int kBlocks, class List>
std::int64_t resident_blocks(int threads, std::size_t shared_bytes) {
  static std::array<std::atomic<std::int64_t>, 64> known{};
  int device = 0;
  cuda_call(cudaGetDevice(&device), "cudaGetDevice");
  std::atomic<std::int64_t>& blocks = known.at(static_cast<std::size_t>(device));
  if (blocks == 0) {
    int of_one = 0, multiprocessors = 0;
    cuda_call(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, run_phases<kBlocks, List>,
                                                            threads, shared_bytes),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    cuda_call(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
              "cudaDeviceGetAttribute");
    blocks = std::int64_t{of_one} * multiprocessors;
  }
  return blocks;
}

template <int kBlocks, class List>
void launch_phases(const Queue& queue, std::int64_t blocks, int threads, std::size_t shared_bytes,
                   List list) {
  (void)&NotedPhases<kBlocks, List>::value;
  check(shared_bytes <= kPlainSharedBytes, "phases have 48 KiB of shared memory at most");
  const std::int64_t grid = std::min(blocks, resident_blocks<kBlocks, List>(threads, shared_bytes));
  void* arguments[] = {&list};
  cuda_call(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&run_phases<kBlocks, List>),
                                        dim3(static_cast<unsigned>(grid)),
                                        dim3(static_cast<unsigned>(threads)), arguments,
                                        shared_bytes, queue.stream()),
            "a launch of phases");
}
#else
template <int kBlocks, class List>
void launch_phases(const Queue&, std::int64_t, int, std::size_t, const List&) {
  refuse_to_launch();
}
#endif

}  // namespace detail

/// Enqueues the phases as one launch. All phases have `threads` threads a block, at most
/// detail::kPhaseThreads, and use the same `shared_bytes` of shared memory. kBlocks is the number
/// of blocks that must fit into a multiprocessor: more blocks hide each other's waits for memory,
/// but leave fewer registers for a thread (4 blocks: 64 registers, 3: 80).
template <int kBlocks, class... Bodies>
void enqueue_phases(Queue& queue, int threads, std::size_t shared_bytes,
                    const Phase<Bodies>&... phases) {
  static_assert((std::is_trivially_copyable_v<Bodies> && ...), "bodies are copied as bytes");
  check(threads > 0 && threads <= detail::kPhaseThreads, "a block has 1 to 256 threads");
  check(detail::most_blocks(phases...) < detail::kMaxBlocks, "a phase has fewer than 2^31 blocks");
  if (queue.emulated()) {
    return queue.enqueue(
        [=] { (detail::emulate_blocks(phases.blocks, threads, shared_bytes, phases.body), ...); });
  }
  detail::launch_phases<kBlocks>(queue, detail::most_blocks(phases...), threads, shared_bytes,
                                 detail::list_of(phases...));
}

}  // namespace regatta::cuda
