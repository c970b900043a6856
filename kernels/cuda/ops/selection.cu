// SPDX-License-Identifier: Apache-2.0
//
// top_k by counting, in one block: the magnitude of the last element that is selected is found four
// bits at a time, each time among those that agree so far, in columns of counters of which each
// thread has its own; then each thread takes its stretch of x, and knows from the counts of those
// before it where its selected elements go and how many that equal the last one are still wanted.
// scatter_add adds part by part, as several parts may have the same index.
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/factories.h"

namespace regatta::cuda {
namespace {

constexpr int kSelectionThreads = 256;
constexpr int kDigitBits = 4;
constexpr std::uint32_t kDigits = 1U << kDigitBits;
constexpr int kMagnitudeBits = 31;

struct TopK {
  struct Shared {
    std::uint32_t counts[kDigits][kSelectionThreads];
    std::uint32_t least;  ///< the least magnitude that is selected, as far as it is known
    std::uint32_t left;   ///< elements with what is known of `least` that are selected
  };

  const std::uint32_t* x;  ///< bits
  std::uint32_t* selected;
  std::uint32_t* rest;
  std::int64_t elements;
  std::uint32_t count;

  __host__ __device__ void operator()(const Block& block) const {
    Shared& shared = *reinterpret_cast<Shared*>(block.shared);
    block.each([&](int thread) {
      if (thread == 0) shared.least = 0;
      if (thread == 0) shared.left = count;
    });
    for (int shift = (kMagnitudeBits - 1) / kDigitBits * kDigitBits; shift >= 0;
         shift -= kDigitBits) {
      find_digit(block, shared, shift);
    }
    count_stretches(block, shared);
    block.each([&](int thread) { take(shared, thread); });
  }

  __host__ __device__ std::uint32_t magnitude(std::int64_t i) const { return x[i] & 0x7fffffffU; }

  __host__ __device__ void find_digit(const Block& block, Shared& shared, int shift) const {
    block.each([&](int thread) {
      for (auto& counts : shared.counts) counts[thread] = 0;
      for (std::int64_t i = thread; i < elements; i += kSelectionThreads) {
        const std::uint32_t digit = (magnitude(i) ^ shared.least) >> shift;
        if (digit < kDigits) ++shared.counts[digit][thread];  // what is known agrees
      }
    });
    block.each([&](int thread) {
      if (thread >= static_cast<int>(kDigits)) return;
      std::uint32_t* const counts = shared.counts[thread];
      for (int other = 1; other < kSelectionThreads; ++other) counts[0] += counts[other];
    });
    block.each([&](int thread) {
      if (thread != 0) return;
      std::uint32_t digit = kDigits - 1;
      while (shared.left > shared.counts[digit][0]) shared.left -= shared.counts[digit--][0];
      shared.least |= digit << shift;
    });
  }

  /// visit(index) for the stretch of a thread.
  template <class Visit>
  __host__ __device__ void each_of_stretch(int thread, const Visit& visit) const {
    const std::int64_t size = (elements + kSelectionThreads - 1) / kSelectionThreads;
    const std::int64_t end = (thread + 1) * size < elements ? (thread + 1) * size : elements;
    for (std::int64_t i = thread * size; i < end; ++i) visit(i);
  }

  /// Leaves in counts[0] and counts[1] how many elements of the stretches before a thread's are
  /// larger than the least one, and how many equal it.
  __host__ __device__ void count_stretches(const Block& block, Shared& shared) const {
    block.each([&](int thread) {
      std::uint32_t larger = 0, equal = 0;
      each_of_stretch(thread, [&](std::int64_t i) {
        larger += magnitude(i) > shared.least ? 1 : 0;
        equal += magnitude(i) == shared.least ? 1 : 0;
      });
      shared.counts[0][thread] = larger;
      shared.counts[1][thread] = equal;
    });
    block.each([&](int thread) {
      if (thread > 1) return;
      std::uint32_t before = 0;
      for (std::uint32_t& counted : shared.counts[thread]) {
        const std::uint32_t mine = counted;
        counted = before;
        before += mine;
      }
    });
  }

  __host__ __device__ void take(const Shared& shared, int thread) const {
    std::uint32_t equal = shared.counts[1][thread];
    std::uint32_t to = shared.counts[0][thread] + (equal < shared.left ? equal : shared.left);
    each_of_stretch(thread, [&](std::int64_t i) {
      const std::uint32_t bits = x[i];
      const bool is_equal = magnitude(i) == shared.least;
      const bool taken = magnitude(i) > shared.least || (is_equal && equal < shared.left);
      equal += is_equal ? 1 : 0;
      rest[i] = taken ? 0 : bits;
      if (!taken) return;
      selected[to] = bits;
      selected[count + to] = static_cast<std::uint32_t>(i);
      ++to;
    });
  }
};

struct MakeZero {
  float* y;

  __host__ __device__ void operator()(std::int64_t i) const { y[i] = 0; }
};

/// Indices of one part differ.
struct AddPart {
  const float* values;
  const std::uint32_t* indices;
  float* y;

  __host__ __device__ void operator()(std::int64_t i) const { y[indices[i]] += values[i]; }
};

}  // namespace

KernelPointer top_k(const KernelRequest& request) {
  const Tensor x = request.inputs[0];
  Queue* queue = &queue_of(request);
  const TopK body{.x = x.as<std::uint32_t>(),
                  .selected = request.outputs[0].as<std::uint32_t>(),
                  .rest = request.outputs[1].as<std::uint32_t>(),
                  .elements = x.elements(),
                  .count = static_cast<std::uint32_t>(request.node.attributes.integer("count"))};
  return make_kernel([=](const StepContext&) {
    for_each_block(*queue, 1, kSelectionThreads, sizeof(TopK::Shared), body);
  });
}

KernelPointer scatter_add(const KernelRequest& request) {
  const Tensor selected = request.inputs[0], y = request.outputs[0];
  const std::int64_t count = request.node.attributes.integer("count");
  Queue* queue = &queue_of(request);
  return make_kernel([=](const StepContext&) {
    for_each(*queue, y.elements(), MakeZero{y.f32()});
    for (std::int64_t at = 0; at < selected.elements(); at += 2 * count) {
      const AddPart part{.values = selected.f32() + at,
                         .indices = selected.as<std::uint32_t>() + at + count,
                         .y = y.f32()};
      for_each(*queue, count, part);
    }
  });
}

}  // namespace regatta::cuda
