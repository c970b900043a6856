// SPDX-License-Identifier: Apache-2.0
//
// The synchronous strategies and degrees that `regatta plan` compares: a table of rows, each a
// strategy with flags of `regatta run`. A letter in place of a value stands for all its degrees.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regatta::strategies {

/// Returns each candidate as flags of `regatta run`, such as `--strategy`, `sharded`, `--shard`,
/// `gradients`. Degrees of `workers` are the powers of two that divide them; compositions have two
/// replicas or more.
std::vector<std::vector<std::string>> candidates(std::int64_t workers,
                                                 std::span<const std::string> microbatches);

}  // namespace regatta::strategies
