// SPDX-License-Identifier: Apache-2.0
//
// GPU access to variables that several loops read and update at any time, each in a queue of its
// own. An element is loaded and stored whole, relaxed, at GPU scope: an update may be lost if
// another comes between its load and its store, but no value is torn or invented. With locks, a
// block of threads holds the lock of its shard and no update is lost. The device counts versions in
// the order of the queue: a reader notes the version before it copies, and an update counts itself
// after its last store, so a copy contains all updates of its version, except for lost ones. For
// .cu files only.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cuda {

__host__ __device__ inline float load_relaxed(const float* from) {
#ifdef __CUDA_ARCH__
  float value;
  asm volatile("ld.relaxed.gpu.f32 %0, [%1];" : "=f"(value) : "l"(from) : "memory");
  return value;
#else
  return std::atomic_ref<float>(*const_cast<float*>(from)).load(std::memory_order_relaxed);
#endif
}

__host__ __device__ inline void store_relaxed(float* to, float value) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
#else
  std::atomic_ref<float>(*to).store(value, std::memory_order_relaxed);
#endif
}

inline constexpr int kSharedWidth = 4;  ///< elements of a pack: 16 bytes

/// Loads `width` elements of a pack that begins at a multiple of 16 bytes. A full pack is one
/// access on a GPU; PTX treats it as one access for each element, in any order.
__host__ __device__ inline void load_relaxed(const float* from, int width,
                                             float (&to)[kSharedWidth]) {
#ifdef __CUDA_ARCH__
  if (width == kSharedWidth) {
    asm volatile("ld.relaxed.gpu.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "l"(from)
                 : "memory");
    return;
  }
#endif
  for (int j = 0; j < kSharedWidth; ++j) {
    if (j < width) to[j] = load_relaxed(from + j);
  }
}

__host__ __device__ inline void store_relaxed(float* to, int width,
                                              const float (&from)[kSharedWidth]) {
#ifdef __CUDA_ARCH__
  if (width == kSharedWidth) {
    asm volatile("st.relaxed.gpu.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(from[0]),
                 "f"(from[1]), "f"(from[2]), "f"(from[3])
                 : "memory");
    return;
  }
#endif
  for (int j = 0; j < kSharedWidth; ++j) {
    if (j < width) store_relaxed(to + j, from[j]);
  }
}

/// Returns a count of finished changes, loaded with acquire: later loads see these changes.
__host__ __device__ inline std::uint64_t finished_version(const std::uint64_t* version) {
#ifdef __CUDA_ARCH__
  std::uint64_t number;
  asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(number) : "l"(version) : "memory");
  return number;
#else
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(version))
      .load(std::memory_order_acquire);
#endif
}

/// Increments `count` after all earlier stores of this queue (a release). Returns the old value.
__host__ __device__ inline std::uint64_t count_one(std::uint64_t* count) {
#ifdef __CUDA_ARCH__
  __threadfence();
  return atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ULL);
#else
  return std::atomic_ref<std::uint64_t>(*count).fetch_add(1, std::memory_order_acq_rel);
#endif
}

/// Increments the canary by a load and a store, so that concurrent increments get lost like updates
/// of an element.
__host__ __device__ inline void touch_canary(std::uint64_t* canary) {
#ifdef __CUDA_ARCH__
  std::uint64_t seen;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(seen) : "l"(canary) : "memory");
  asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(canary), "l"(seen + 1) : "memory");
#else
  const std::atomic_ref<std::uint64_t> count(*canary);
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
}

/// Takes the lock, spinning until it is free. A lock's holder is running, and waits only for locks
/// at higher addresses (average.cu), so every wait ends.
__host__ __device__ inline void lock(std::uint32_t* word) {
#ifdef __CUDA_ARCH__
  while (atomicCAS(word, 0U, 1U) != 0U) __nanosleep(100);
  __threadfence();
#else
  const std::atomic_ref<std::uint32_t> held(*word);
  while (held.exchange(1, std::memory_order_acquire) != 0) std::this_thread::yield();
#endif
}

__host__ __device__ inline void unlock(std::uint32_t* word) {
#ifdef __CUDA_ARCH__
  __threadfence();
  atomicExch(word, 0U);
#else
  std::atomic_ref<std::uint32_t>(*word).store(0, std::memory_order_release);
#endif
}

/// Returns the device's time. Units: nanoseconds. A GPU's clock advances in steps of up to a
/// microsecond.
__host__ __device__ inline std::uint64_t device_clock() {
#ifdef __CUDA_ARCH__
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

/// Divides the elements of a shared variable among blocks of threads. If the variable has locks,
/// each block has one shard.
class Shards {
 public:
  static constexpr int kThreads = 256;

  /// Divides the elements of `variable`. Throws: RunError(Unsupported) if updates wait for a
  /// quorum.
  explicit Shards(const VariableStorage& variable)
      : count_(variable.tensor.elements()), words_(variable.shard_words) {
    if (variable.sharing == Sharing::Quorum) {
      throw RunError(ErrorKind::Unsupported,
                     "servers that have backup workers compute on the CPU, in processes of their "
                     "own; fix: leave --processes out, or give --processes 2 or more");
    }
    check((variable.sharing == Sharing::Locked) == (words_ != nullptr),
          "what is locked on a GPU has its locks in its memory");
    if (words_ != nullptr) block_elements_ = kShardElements;
  }

  std::int64_t blocks() const { return (count_ + block_elements_ - 1) / block_elements_; }
  std::int64_t middle() const { return count_ / 2 / kSharedWidth * kSharedWidth; }
  bool locked() const { return words_ != nullptr; }

  /// Calls visit(first, width) for each pack of the block: `first` is the index of its first
  /// element, `width` the number of its elements. All threads of the block call this function.
  /// Takes the lock of the block's shard, if there are locks.
  template <typename Visit>
  __host__ __device__ void for_each_pack(const Block& block, const Visit& visit) const {
    if (words_ != nullptr) {
      block.each([&](int thread) {
        if (thread == 0) lock(words_ + block.index);
      });
    }
    for_each_pack_held(block, visit);
    if (words_ != nullptr) {
      block.each([&](int thread) {
        if (thread == 0) unlock(words_ + block.index);
      });
    }
  }

  /// Like for_each_pack(), for a block that already has the locks it needs.
  template <typename Visit>
  __host__ __device__ void for_each_pack_held(const Block& block, const Visit& visit) const {
    block.each([&](int thread) {
      const std::int64_t begin = block.index * block_elements_;
      const std::int64_t end = begin + block_elements_ < count_ ? begin + block_elements_ : count_;
      for (std::int64_t first = begin + std::int64_t{thread} * kSharedWidth; first < end;
           first += std::int64_t{kThreads} * kSharedWidth) {
        visit(first, static_cast<int>(end - first < kSharedWidth ? end - first : kSharedWidth));
      }
    });
  }

 private:
  std::int64_t count_;
  std::uint32_t* words_;
  std::int64_t block_elements_ = 4096;
};

}  // namespace regatta::cuda
