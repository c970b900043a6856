// SPDX-License-Identifier: Apache-2.0
//
// Random numbers as pure functions of a key and a counter (Philox4x32-10), so that every process
// and device draws the same bits, in whatever order it draws. Functions that GPU kernels use are
// constexpr. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace regatta {

using Counter4 = std::array<std::uint32_t, 4>;

/// Computes ten rounds of Philox4x32.
constexpr Counter4 philox(Counter4 counter, std::array<std::uint32_t, 2> key) {
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

/// Maps a random word to [0, bound), uniformly except for a relative bias below bound / 2^32.
constexpr std::uint32_t below_word(std::uint32_t word, std::uint32_t bound) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * bound) >> 32);
}

/// The purpose of a random stream; streams with different purposes are independent.
enum class Purpose : std::uint32_t {
  Weights = 1,
  Order = 2,
  Augmentation = 3,
  DataSet = 4,
  ComputeTimes = 5,
  Peers = 6
};

/// The stream of random words for one (seed, purpose, a, b). A draw, numbered from 0, yields four
/// words.
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t a = 0,
                         std::uint32_t b = 0)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        a_(a),
        b_(b),
        purpose_(static_cast<std::uint32_t>(purpose)) {}

  /// Returns the four words of draw `index`.
  constexpr Counter4 words(std::uint32_t index) const {
    return philox({index, a_, b_, purpose_}, key_);
  }
  /// Returns a number uniform in [0, 1) with 24 random bits, from word `lane` (0 to 3) of draw
  /// `index`.
  float uniform(std::uint32_t index, int lane = 0) const;
  /// Returns an integer uniform in [0, bound), from word `lane` (0 to 3) of draw `index`.
  constexpr std::uint32_t below(std::uint32_t bound, std::uint32_t index, int lane = 0) const {
    return below_word(words(index)[static_cast<std::size_t>(lane)], bound);
  }
  /// Returns a standard normal number by Box-Muller, from words 0 and 1 of draw `index`.
  float normal(std::uint32_t index) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t a_;
  std::uint32_t b_;
  std::uint32_t purpose_;
};

/// 64-bit FNV-1a hash, for names and checksums. To hash data in pieces, pass the result for the
/// earlier pieces as `hash`.
std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t hash = 0xcbf29ce484222325ULL);
std::uint64_t fnv1a(std::string_view text);

/// Returns the order of examples in an epoch: a permutation of 0 … count - 1 that depends only on
/// (seed, epoch).
std::vector<std::int32_t> example_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count);
/// Writes example_order() to `order`, whose size is the number of examples.
void draw_example_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int32_t> order);

/// Draws, uniformly, the peer (0 to peers - 1) with which a replica averages in a step. Like all
/// exchange schedules, the result does not depend on the run's seed.
constexpr std::uint32_t draw_peer(std::uint32_t replica, std::int64_t step, std::uint32_t peers) {
  const RandomStream stream(0, Purpose::Peers, replica);
  return stream.below(peers, static_cast<std::uint32_t>(step));
}

}  // namespace regatta
