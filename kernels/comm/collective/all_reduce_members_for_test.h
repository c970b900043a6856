// SPDX-License-Identifier: Apache-2.0
//
// What tests of an all_reduce between processes share, whatever carries it: a member's node and
// what the member contributes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::testing_support {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

inline float contribution(std::int64_t member, std::int64_t round, std::int64_t i) {
  return std::sin(static_cast<float>(member * 7919 + round * 104729 + i));
}

/// Member of a collective whose members 0, 1, … live in `processes`.
inline Node node_of(const std::string& algorithm, const std::vector<std::int64_t>& processes,
                    std::int64_t member, std::int64_t group) {
  Node node{.op = Op::AllReduce,
            .attributes = {{"group", group},
                           {"member", member},
                           {"members", std::ssize(processes)},
                           {"algorithm", algorithm},
                           {"processes", processes}},
            .inputs = {},
            .variables = {},
            .outputs = {},
            .place = {},
            .phase = Phase::Communication,
            .layer = {}};
  node.place.replica = static_cast<int>(member);
  return node;
}

}  // namespace regatta::testing_support
