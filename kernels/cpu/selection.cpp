// SPDX-License-Identifier: Apache-2.0
//
// top_k by counting on one thread. It finds the magnitude of the last selected element 11, 10 and
// 10 bits at a time, each time among the elements that agree so far; then one pass selects larger
// elements and the first of the equal ones. If few of many elements are selected, candidates.h
// first reduces the elements to count.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/candidates.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::size_t kBuckets = 2048;

/// Selects the `selected` elements of largest magnitude among elements given by their bits.
class Selection {
 public:
  Selection(Bits elements, std::int64_t selected)
      : bits_(elements.first), elements_(elements.count), left_(selected) {}

  /// Calls visit(index) for each selected element, by ascending index.
  template <typename Visit>
  void each(const Visit& visit) {
    first_digits();
    next_digits(20, 10);
    next_digits(10, 0);
    for (std::int64_t begin = 0; begin < elements_; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, elements_);
      std::uint32_t any = 0;
      for (std::int64_t i = begin; i < end; ++i) any |= (bits_[i] & kMagnitude) >= found_ ? 1U : 0U;
      if (any == 0) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t magnitude = bits_[i] & kMagnitude;
        if (magnitude > found_ || (magnitude == found_ && left_-- > 0)) visit(i);
      }
    }
  }

 private:
  /// Counts in four tables, so that equal digits in a row do not wait for each other.
  void first_digits() {
    std::array<std::array<std::uint32_t, kBuckets>, 4> counts{};
    std::int64_t i = 0;
    for (; i + 4 <= elements_; i += 4) {
      for (std::size_t k = 0; k < 4; ++k) {
        ++counts[k][(bits_[i + static_cast<std::int64_t>(k)] & kMagnitude) >> 20];
      }
    }
    for (; i < elements_; ++i) ++counts[0][(bits_[i] & kMagnitude) >> 20];
    for (std::size_t b = 0; b < kBuckets; ++b) {
      counts[0][b] += counts[1][b] + counts[2][b] + counts[3][b];
    }
    choose(counts[0], 20);
  }

  /// Finds the digit at `shift` among elements that agree with found_ from bit `known` up.
  void next_digits(int known, int shift) {
    std::array<std::uint32_t, kBuckets> counts{};
    const std::uint32_t prefix = found_ >> known;
    for (std::int64_t begin = 0; begin < elements_; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, elements_);
      std::uint32_t any = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        any |= (bits_[i] & kMagnitude) >> known == prefix ? 1U : 0U;
      }
      if (any == 0) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t magnitude = bits_[i] & kMagnitude;
        if (magnitude >> known == prefix) ++counts[(magnitude >> shift) & 1023U];
      }
    }
    choose(counts, shift);
  }

  /// Counts from the largest digit down to that of the last selected element.
  void choose(const std::array<std::uint32_t, kBuckets>& counts, int shift) {
    std::size_t digit = kBuckets - 1;
    while (left_ > counts[digit]) left_ -= counts[digit--];
    found_ |= static_cast<std::uint32_t>(digit) << shift;
  }

  const std::uint32_t* bits_;
  std::int64_t elements_;
  std::int64_t left_;        ///< at the end: the number selected of magnitude found_
  std::uint32_t found_ = 0;  ///< at the end: the least selected magnitude
};

KernelPointer top_k(const KernelRequest& request) {
  const Tensor x = request.inputs[0], selected = request.outputs[0], rest = request.outputs[1];
  const std::int64_t count = request.node.attributes.integer("count");
  const Bits bits{.first = x.as<std::uint32_t>(), .count = x.elements()};
  return make_kernel([=, candidates = Candidates(bits, count)](const StepContext&) mutable {
    std::memcpy(rest.data, x.data, static_cast<std::size_t>(x.type.bytes()));
    float* value = selected.f32();
    std::uint32_t* index = selected.as<std::uint32_t>() + count;
    const auto take = [&](std::int64_t i) {
      *value++ = x.f32()[i];
      *index++ = static_cast<std::uint32_t>(i);
      rest.f32()[i] = 0;
    };
    if (candidates.find()) {
      Selection(candidates.bits(), count).each([&](std::int64_t c) { take(candidates.index(c)); });
    } else {
      Selection(bits, count).each(take);
    }
  });
}

KernelPointer scatter_add(const KernelRequest& request) {
  const Tensor selected = request.inputs[0], y = request.outputs[0];
  const std::int64_t count = request.node.attributes.integer("count");
  return make_kernel([=](const StepContext&) {
    std::memset(y.data, 0, static_cast<std::size_t>(y.type.bytes()));
    for (std::int64_t at = 0; at < selected.elements(); at += 2 * count) {
      const float* const values = selected.f32() + at;
      const auto* const indices = selected.as<std::uint32_t>() + at + count;
      for (std::int64_t i = 0; i < count; ++i) y.f32()[indices[i]] += values[i];
    }
  });
}

}  // namespace

KernelRows selection_kernels() { return {{Op::TopK, top_k}, {Op::ScatterAdd, scatter_add}}; }

}  // namespace regatta::cpu
