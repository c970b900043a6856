// SPDX-License-Identifier: Apache-2.0
//
// top_k by counting, in phases of a launch. The magnitude of the last selected element is found
// four bits at a time, each time among the elements that agree so far. A block counts its chunk of
// x in columns of counters, one column for each thread, and every block adds up all blocks' counts
// before it goes on. Then each thread handles a stretch of its block's chunk; from the counts
// before it, it knows where its selected elements go and how many equal to the last one are still
// needed. x is read eleven times. scatter_add adds part by part, as several parts may have the same
// index.
#include <algorithm>
#include <memory>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/phases.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

constexpr int kSelectionThreads = 256;
constexpr int kDigitBits = 4;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kRounds = 8;  ///< rounds of four bits cover a magnitude, whose sign bit is 0
/// Least elements of a block, and most blocks: about one for each multiprocessor of an H100.
constexpr std::int64_t kLeastChunk = 4096;
constexpr std::int64_t kMostBlocks = 128;

/// The result of the rounds so far.
struct Found {
  std::uint32_t least;  ///< known leading bits of the least selected magnitude
  std::uint32_t left;   ///< number of selected elements among those with these bits
};

struct Selection {
  struct Shared {
    std::uint32_t counts[kDigits][kSelectionThreads];
    std::uint32_t sums[kDigits];
    Found found;
  };

  const std::uint32_t* x;  ///< bits
  std::uint32_t* selected;
  std::uint32_t* rest;
  std::int64_t elements;
  std::uint32_t count;
  std::int64_t blocks;
  Found* found;           ///< by round
  std::uint32_t* counts;  ///< [2 rounds in turn, digits, blocks]

  __host__ __device__ std::uint32_t magnitude(std::int64_t i) const { return x[i] & 0x7fffffffU; }

  __host__ __device__ std::uint32_t& counted(int round, int digit, std::int64_t block) const {
    return counts[((round % 2) * kDigits + digit) * blocks + block];
  }

  __host__ __device__ std::int64_t begin_of(std::int64_t block) const {
    const std::int64_t chunk = (elements + blocks - 1) / blocks;
    return block * chunk < elements ? block * chunk : elements;
  }

  /// Calls visit(index) for a thread's elements in counting: neighbouring threads read neighbours.
  template <class Visit>
  __host__ __device__ void each_in_turn(const Block& block, int thread, const Visit& visit) const {
    const std::int64_t end = begin_of(block.index + 1);
    for (std::int64_t i = begin_of(block.index) + thread; i < end; i += kSelectionThreads) visit(i);
  }

  /// Calls visit(index) for the elements of a thread's stretch.
  template <class Visit>
  __host__ __device__ void each_of_stretch(const Block& block, int thread,
                                           const Visit& visit) const {
    const std::int64_t begin = begin_of(block.index), end = begin_of(block.index + 1);
    const std::int64_t size = (end - begin + kSelectionThreads - 1) / kSelectionThreads;
    const std::int64_t from = begin + thread * size;
    const std::int64_t to = from + size < end ? from + size : end;
    for (std::int64_t i = from; i < to; ++i) visit(i);
  }

  /// Computes the result of the previous round in `shared.found`.
  __host__ __device__ void find(const Block& block, Shared& shared, int round) const {
    if (round == 0) {
      block.each([&](int thread) {
        if (thread != 0) return;
        shared.found = {.least = 0, .left = count};
        if (block.index == 0) found[0] = shared.found;
      });
      return;
    }
    block.each([&](int thread) {
      if (thread >= kDigits) return;
      std::uint32_t sum = 0;
      for (std::int64_t b = 0; b < blocks; ++b) sum += counted(round - 1, thread, b);
      shared.sums[thread] = sum;
    });
    block.each([&](int thread) {
      if (thread != 0) return;
      Found known = found[round - 1];
      int digit = kDigits - 1;
      while (known.left > shared.sums[digit]) known.left -= shared.sums[digit--];
      known.least |= static_cast<std::uint32_t>(digit) << ((kRounds - round) * kDigitBits);
      shared.found = known;
      if (block.index == 0) found[round] = known;
    });
  }

  /// Publishes the sums of a block's columns, digit by digit, to all blocks.
  __host__ __device__ void tell(const Block& block, const Shared& shared, int round,
                                int digits) const {
    block.each([&](int thread) {
      if (thread >= digits) return;
      std::uint32_t sum = 0;
      for (int other = 0; other < kSelectionThreads; ++other) sum += shared.counts[thread][other];
      counted(round, thread, block.index) = sum;
    });
  }
};

/// Counts the elements by the digit of a round.
template <int kRound>
struct CountDigits {
  Selection selection;

  __host__ __device__ void operator()(const Block& block) const {
    Selection::Shared& shared = *reinterpret_cast<Selection::Shared*>(block.shared);
    selection.find(block, shared, kRound);
    block.each([&](int thread) {
      constexpr int kShift = (kRounds - 1 - kRound) * kDigitBits;
      for (auto& counts : shared.counts) counts[thread] = 0;
      selection.each_in_turn(block, thread, [&](std::int64_t i) {
        const std::uint32_t digit = (selection.magnitude(i) ^ shared.found.least) >> kShift;
        if (digit < kDigits) ++shared.counts[digit][thread];  // agrees with the known bits
      });
    });
    selection.tell(block, shared, kRound, kDigits);
  }
};

/// Counts the elements larger than the least one, and those equal to it.
struct CountSelected {
  Selection selection;

  __host__ __device__ void operator()(const Block& block) const {
    Selection::Shared& shared = *reinterpret_cast<Selection::Shared*>(block.shared);
    selection.find(block, shared, kRounds);
    block.each([&](int thread) { count_stretch(block, shared, thread); });
    selection.tell(block, shared, kRounds, 2);
  }

  __host__ __device__ void count_stretch(const Block& block, Selection::Shared& shared,
                                         int thread) const {
    std::uint32_t larger = 0, equal = 0;
    selection.each_of_stretch(block, thread, [&](std::int64_t i) {
      larger += selection.magnitude(i) > shared.found.least ? 1 : 0;
      equal += selection.magnitude(i) == shared.found.least ? 1 : 0;
    });
    shared.counts[0][thread] = larger;
    shared.counts[1][thread] = equal;
  }
};

struct TakeSelected {
  Selection selection;

  __host__ __device__ void operator()(const Block& block) const {
    Selection::Shared& shared = *reinterpret_cast<Selection::Shared*>(block.shared);
    block.each([&](int thread) {
      if (thread == 0) shared.found = selection.found[kRounds];
    });
    block.each([&](int thread) { CountSelected{selection}.count_stretch(block, shared, thread); });
    block.each([&](int thread) {
      if (thread > 1) return;
      std::uint32_t before = 0;
      for (std::int64_t b = 0; b < block.index; ++b) {
        before += selection.counted(kRounds, thread, b);
      }
      for (std::uint32_t& counted : shared.counts[thread]) {
        const std::uint32_t mine = counted;
        counted = before;
        before += mine;
      }
    });
    block.each([&](int thread) { take(block, shared, thread); });
  }

  __host__ __device__ void take(const Block& block, const Selection::Shared& shared,
                                int thread) const {
    const Found& found = shared.found;
    std::uint32_t equal = shared.counts[1][thread];
    std::uint32_t to = shared.counts[0][thread] + (equal < found.left ? equal : found.left);
    selection.each_of_stretch(block, thread, [&](std::int64_t i) {
      const std::uint32_t bits = selection.x[i];
      const bool is_equal = selection.magnitude(i) == found.least;
      const bool taken = selection.magnitude(i) > found.least || (is_equal && equal < found.left);
      equal += is_equal ? 1 : 0;
      selection.rest[i] = taken ? 0 : bits;
      if (!taken) return;
      selection.selected[to] = bits;
      selection.selected[selection.count + to] = static_cast<std::uint32_t>(i);
      ++to;
    });
  }
};

struct MakeZero {
  float* y;

  __host__ __device__ void operator()(std::int64_t i) const { y[i] = 0; }
};

/// Adds one part, whose indices differ.
struct AddPart {
  const float* values;
  const std::uint32_t* indices;
  float* y;

  __host__ __device__ void operator()(std::int64_t i) const { y[indices[i]] += values[i]; }
};

KernelPointer top_k(const KernelRequest& request) {
  const Tensor x = request.inputs[0];
  Queue* queue = &queue_of(request);
  const std::int64_t blocks = std::clamp<std::int64_t>(x.elements() / kLeastChunk, 1, kMostBlocks);
  const auto memory = std::make_shared<const Scratch>(
      *queue, static_cast<std::int64_t>((kRounds + 1) * sizeof(Found)) +
                  2 * kDigits * blocks * static_cast<std::int64_t>(sizeof(std::uint32_t)));
  const Selection body{
      .x = x.as<std::uint32_t>(),
      .selected = request.outputs[0].as<std::uint32_t>(),
      .rest = request.outputs[1].as<std::uint32_t>(),
      .elements = x.elements(),
      .count = static_cast<std::uint32_t>(request.node.attributes.integer("count")),
      .blocks = blocks,
      .found = memory->as<Found>(),
      .counts = reinterpret_cast<std::uint32_t*>(memory->as<Found>() + kRounds + 1)};
  return make_kernel([queue, blocks, body, keep = memory](const StepContext&) {
    enqueue_phases<4>(*queue, kSelectionThreads, sizeof(Selection::Shared),
                      Phase{blocks, CountDigits<0>{body}}, Phase{blocks, CountDigits<1>{body}},
                      Phase{blocks, CountDigits<2>{body}}, Phase{blocks, CountDigits<3>{body}},
                      Phase{blocks, CountDigits<4>{body}}, Phase{blocks, CountDigits<5>{body}},
                      Phase{blocks, CountDigits<6>{body}}, Phase{blocks, CountDigits<7>{body}},
                      Phase{blocks, CountSelected{body}}, Phase{blocks, TakeSelected{body}});
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

}  // namespace

KernelRows selection_kernels() { return {{Op::TopK, top_k}, {Op::ScatterAdd, scatter_add}}; }

}  // namespace regatta::cuda
