// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace regatta {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

}  // namespace

float RandomStream::uniform(std::uint32_t index, int lane) const {
  return static_cast<float>(words(index)[static_cast<std::size_t>(lane)] >> 8) * 0x1p-24F;
}

float RandomStream::normal(std::uint32_t index) const {
  const Counter4 word = words(index);
  const double u = (static_cast<double>(word[0]) + 1.0) * 0x1p-32;  // (0, 1]
  const double angle = 2 * std::numbers::pi * static_cast<double>(word[1]) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
}

std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t hash) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * kPrime;
  return hash;
}

std::uint64_t fnv1a(std::string_view text) { return fnv1a(text.data(), text.size()); }

std::vector<std::int32_t> example_order(std::uint64_t seed, std::int64_t epoch,
                                        std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  draw_example_order(seed, epoch, order);
  return order;
}

void draw_example_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int32_t> order) {
  std::iota(order.begin(), order.end(), 0);
  const RandomStream stream(seed, Purpose::Order, static_cast<std::uint32_t>(epoch));
  for (auto i = static_cast<std::uint32_t>(order.size()); i > 1; --i) {
    std::swap(order[i - 1], order[stream.below(i, i)]);
  }
}

}  // namespace regatta
