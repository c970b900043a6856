// SPDX-License-Identifier: Apache-2.0
//
// The data set `pairs`: a language that the program makes, for language models. A token depends on
// the two before it, so a model must look at both; the best prediction from the last one alone has
// a loss of 2.57 nats. It has 16 symbols. After each pair of symbols four may follow, with chances
// 1/2, 1/4, 1/8 and 1/8:
//   follow(p), p = 16 a + b: the first four cards of a deck 0 … 15; for i = 0 … 3, card i is
//     swapped with card i + below(w_i, 16 - i); w = philox((p, 0, 0, 4), 0)
//   u_t = word 0 of philox((t, split, block, 4), 0), split = 1 (training) or 2 (validation)
//   x_0 = below(u_0, 16), x_1 = below(u_1, 16)
//   x_t = follow(16 x_{t-2} + x_{t-1})[rank], rank = (0 0 0 0 1 1 2 3)[u_t >> 29]
// Integer arithmetic on Philox words (key 0, purpose 4) gives the same tokens on every machine and
// for every seed of a run. A block of a longer context begins with the block of a shorter one.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/data/data_set.h"
#include "workloads/data/split.h"

namespace regatta::workloads {

inline constexpr std::int64_t kPairsSymbols = 16;
inline constexpr DataSetSizes kPairs{.train = 16'384, .test = 512};

/// Returns the symbols that may follow symbols a and b (at 16 a + b), the likeliest first.
std::array<std::array<std::uint8_t, 4>, 256> pairs_followers();

/// Makes the first `blocks` blocks of a split. Shapes: inputs and targets i32 [blocks, context].
DataSet make_pairs(Split split, std::int64_t blocks, std::int64_t context);

/// Returns the least mean loss of a model on these blocks, the entropy of the language if x_0 and
/// x_1 are unknown: (ln 16 + ln 2 * sum over t >= 2 of the bits of x_t) per block and target, with
/// 1, 2, 3, 3 bits by rank. Units: nats.
double pairs_floor(const DataSet& pairs);

}  // namespace regatta::workloads
