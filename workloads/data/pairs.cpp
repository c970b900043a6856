// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/base/random.h"
#include "workloads/data/sequences.h"

namespace regatta::workloads {
namespace {

constexpr std::uint64_t kNoSeed = 0;

std::size_t place_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::size_t>(kPairsSymbols * a + b);
}

}  // namespace

std::array<std::array<std::uint8_t, 4>, 256> pairs_followers() {
  std::array<std::array<std::uint8_t, 4>, 256> follow;
  const RandomStream stream(kNoSeed, Purpose::DataSet);
  for (std::uint32_t p = 0; p < follow.size(); ++p) {
    const Counter4 words = stream.words(p);
    std::array<std::uint8_t, kPairsSymbols> deck;
    std::iota(deck.begin(), deck.end(), std::uint8_t{0});
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::swap(deck.at(i), deck.at(i + below_word(words.at(i), kPairsSymbols - i)));
      follow.at(p).at(i) = deck.at(i);
    }
  }
  return follow;
}

DataSet make_pairs(Split split, std::int64_t blocks, std::int64_t context) {
  constexpr std::array<std::uint8_t, 8> kRank{0, 0, 0, 0, 1, 1, 2, 3};
  const auto follow = pairs_followers();
  std::vector<std::int32_t> tokens;
  tokens.reserve(static_cast<std::size_t>(blocks * (context + 1)));
  for (std::int64_t i = 0; i < blocks; ++i) {
    const RandomStream stream(kNoSeed, Purpose::DataSet, split == Split::Train ? 1 : 2,
                              static_cast<std::uint32_t>(i));
    for (std::int64_t t = 0; t <= context; ++t) {
      const std::uint32_t word = stream.words(static_cast<std::uint32_t>(t))[0];
      tokens.push_back(t < 2
                           ? static_cast<std::int32_t>(below_word(word, kPairsSymbols))
                           : follow[place_of(tokens.end()[-2], tokens.back())][kRank[word >> 29]]);
    }
  }
  return cut_into_blocks("pairs", tokens, {.context = context, .stride = context + 1});
}

double pairs_floor(const DataSet& pairs) {
  constexpr std::array<std::int64_t, 4> kBits{1, 2, 3, 3};
  const auto follow = pairs_followers();
  const auto& inputs = pairs.inputs.as<std::int32_t>();
  const auto& targets = pairs.targets.as<std::int32_t>();
  const auto context = static_cast<std::size_t>(pairs.inputs.elements());
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i % context == 0) {
      bits += 4;
      continue;
    }
    const auto& four = follow.at(place_of(inputs[i - 1], inputs[i]));
    bits += kBits.at(
        static_cast<std::size_t>(std::find(four.begin(), four.end(), targets[i]) - four.begin()));
  }
  return std::log(2.0) * static_cast<double>(bits) / static_cast<double>(targets.size());
}

}  // namespace regatta::workloads
