// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "kernels/graph/builder.h"

namespace regatta {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

std::uint32_t below_word(std::uint32_t word, std::uint32_t bound) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * bound) >> 32);
}

}  // namespace

Counter4 philox(Counter4 counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t a, std::uint32_t b)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      a_(a),
      b_(b),
      purpose_(static_cast<std::uint32_t>(purpose)) {}

Counter4 RandomStream::words(std::uint32_t index) const {
  return philox({index, a_, b_, purpose_}, key_);
}

float RandomStream::uniform(std::uint32_t index, int lane) const {
  return static_cast<float>(words(index)[static_cast<std::size_t>(lane)] >> 8) * 0x1p-24F;
}

std::uint32_t RandomStream::below(std::uint32_t bound, std::uint32_t index, int lane) const {
  return below_word(words(index)[static_cast<std::size_t>(lane)], bound);
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

AugmentationDraw draw_augmentation(std::uint64_t seed, std::int64_t epoch, std::int64_t example,
                                   const AugmentationRanges& ranges) {
  const RandomStream stream(seed, Purpose::Augmentation, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint32_t>(example));
  const Counter4 first = stream.words(0);
  const auto shifts = static_cast<std::uint32_t>(2 * ranges.pad + 1);
  const auto corners = static_cast<std::uint32_t>(ranges.side - ranges.cutout + 1);
  AugmentationDraw draw;
  draw.shift_x = static_cast<std::int32_t>(below_word(first[0], shifts));
  draw.shift_y = static_cast<std::int32_t>(below_word(first[1], shifts));
  draw.cutout_x = static_cast<std::int32_t>(below_word(first[2], corners));
  draw.cutout_y = static_cast<std::int32_t>(below_word(first[3], corners));
  if (ranges.flip == static_cast<int>(Augmentation::Flip::Random)) {
    draw.flip = (stream.words(1)[0] & 1U) != 0;
  } else if (ranges.flip == static_cast<int>(Augmentation::Flip::Alternating)) {
    const RandomStream once(seed, Purpose::Augmentation, 0, static_cast<std::uint32_t>(example));
    draw.flip = ((once.words(1)[0] & 1U) != 0) != (epoch % 2 == 1);
  }
  return draw;
}

}  // namespace regatta
