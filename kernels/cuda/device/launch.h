// SPDX-License-Identifier: Apache-2.0
//
// Runs a body for each element or each block of threads: on a stream or, for an emulated queue, as
// loops on the calling thread. The body is `__host__ __device__` and copied by value. No call waits
// for the device. For .cu files only.
//   for_each(queue, n, body):                        body(i) for i in [0, n)
//   for_each_block(queue, blocks, threads, bytes, body): body(block); in it, block.each(f) calls
//     f(thread) for every thread; data in block.shared lasts from one each() to the next
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/load_kernels.h"
#include "kernels/cuda/device/queue.h"

namespace regatta::cuda {

/// One block of threads, as its body sees it. A variable that the body declares outside of each()
/// exists once for each thread on a device but only once when emulated, so data that a thread keeps
/// between two each() belongs in `shared`.
struct Block {
  std::int64_t index = 0;
  int threads = 0;
  char* shared = nullptr;  ///< the block's memory; aligned to 16 bytes, not initialised

  /// Calls f(thread) for every thread of the block and returns when all calls have returned. All
  /// threads of the block must call each() together, never inside a branch that only some take.
  template <class Function>
  __host__ __device__ void each(Function f) const {
#ifdef __CUDA_ARCH__
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    for (int thread = 0; thread < threads; ++thread) f(thread);
#endif
  }
};

namespace detail {

inline constexpr int kThreads = 256;
/// Largest number of threads of a block for which each may use 128 registers. Source: CUDA C++
/// Programming Guide, compute capabilities: 65,536 registers in a block.
inline constexpr int kMostThreads = 512;
/// Number of blocks that must fit into a multiprocessor (__launch_bounds__). Without it, the
/// compiler aims at more blocks and spills registers.
inline constexpr int kLeastBlocks = 1;
/// Largest number of blocks of a launch over elements; if there are more elements than threads, a
/// thread takes several.
inline constexpr std::int64_t kBlocks = 65536;
inline constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 31;
/// Largest shared memory of a block that needs no cudaFuncSetAttribute(). Source: CUDA C++
/// Programming Guide, compute capabilities.
inline constexpr std::size_t kPlainSharedBytes = 48 * 1024;

#ifdef __CUDACC__
inline constexpr bool kHasDeviceCode = true;

template <class Body>
__global__ void run_elements(std::int64_t n, Body body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < n; i += stride) body(i);
}

template <class Body>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) run_block(Body body) {
  extern __shared__ __align__(16) char shared[];
  body(Block{.index = blockIdx.x, .threads = static_cast<int>(blockDim.x), .shared = shared});
}

/// Registers a body's kernels for load_kernels().
template <class Body>
struct Noted {
  static inline const bool elements =
      note_kernel(reinterpret_cast<const void*>(&run_elements<Body>));
  static inline const bool blocks = note_kernel(reinterpret_cast<const void*>(&run_block<Body>));
};

template <class Body>
void launch_elements(const Queue& queue, std::int64_t n, const Body& body) {
  (void)&Noted<Body>::elements;
  const std::int64_t wanted = (n + kThreads - 1) / kThreads;
  const auto blocks = static_cast<unsigned>(std::min(wanted, kBlocks));
  run_elements<<<blocks, kThreads, 0, queue.stream()>>>(n, body);
  cuda_call(cudaGetLastError(), "a launch of for_each");
}

template <class Body>
void launch_blocks(const Queue& queue, std::int64_t blocks, int threads, std::size_t shared_bytes,
                   const Body& body) {
  (void)&Noted<Body>::blocks;
  if (shared_bytes > kPlainSharedBytes) {
    cuda_call(cudaFuncSetAttribute(run_block<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)),
              "cudaFuncSetAttribute");
  }
  run_block<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes,
              queue.stream()>>>(body);
  cuda_call(cudaGetLastError(), "a launch of for_each_block");
}
#else
/// A sanitizer's build has no device code (REGATTA_CUDA=EMULATED).
inline constexpr bool kHasDeviceCode = false;

[[noreturn]] inline void refuse_to_launch() {
  throw RunError(ErrorKind::Unsupported,
                 "this build emulates GPUs only; fix: build with -D REGATTA_CUDA=ON");
}
template <class Body>
void launch_elements(const Queue&, std::int64_t, const Body&) {
  refuse_to_launch();
}
template <class Body>
void launch_blocks(const Queue&, std::int64_t, int, std::size_t, const Body&) {
  refuse_to_launch();
}
#endif

/// Runs the blocks one after another on the host. Shared memory starts with all bits set (NaN as
/// floats), so a kernel that relies on zeros fails.
template <class Body>
void emulate_blocks(std::int64_t blocks, int threads, std::size_t shared_bytes, const Body& body) {
  struct alignas(16) Chunk {
    char bytes[16];
  };
  std::vector<Chunk> shared(shared_bytes / sizeof(Chunk) + 1);
  for (std::int64_t index = 0; index < blocks; ++index) {
    std::memset(shared.data(), 0xFF, shared.size() * sizeof(Chunk));
    body(Block{.index = index, .threads = threads, .shared = shared.front().bytes});
  }
}

}  // namespace detail

template <class Body>
void for_each(Queue& queue, std::int64_t n, Body body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a body is copied to the device as bytes");
  if (n <= 0) return;
  if (queue.emulated()) {
    return queue.enqueue([n, body] {
      for (std::int64_t i = 0; i < n; ++i) body(i);
    });
  }
  detail::launch_elements(queue, n, body);
}

/// Runs body(block) for each block. `threads` is at most detail::kMostThreads.
template <class Body>
void for_each_block(Queue& queue, std::int64_t blocks, int threads, std::size_t shared_bytes,
                    Body body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a body is copied to the device as bytes");
  check(threads > 0 && threads <= detail::kMostThreads, "a block has 1 to 512 threads");
  check(blocks < detail::kMaxBlocks, "a launch has fewer than 2^31 blocks");
  if (blocks <= 0) return;
  if (queue.emulated()) {
    return queue.enqueue([blocks, threads, shared_bytes, body] {
      detail::emulate_blocks(blocks, threads, shared_bytes, body);
    });
  }
  detail::launch_blocks(queue, blocks, threads, shared_bytes, body);
}

}  // namespace regatta::cuda
