// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/sequences.h"

#include <utility>
#include <vector>

namespace regatta::workloads {

DataSet cut_into_blocks(const std::string& name, std::span<const std::int32_t> tokens,
                        const Blocks& blocks) {
  const std::int64_t count = count_of(blocks, static_cast<std::int64_t>(tokens.size()));
  const auto context = static_cast<std::size_t>(blocks.context);
  std::vector<std::int32_t> inputs, targets;
  inputs.reserve(static_cast<std::size_t>(count) * context);
  targets.reserve(inputs.capacity());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto block = tokens.subspan(static_cast<std::size_t>(i * blocks.stride), context + 1);
    inputs.insert(inputs.end(), block.begin(), block.end() - 1);
    targets.insert(targets.end(), block.begin() + 1, block.end());
  }
  return {.name = name,
          .count = count,
          .inputs = {{blocks.context}, std::move(inputs)},
          .targets = {{blocks.context}, std::move(targets)}};
}

}  // namespace regatta::workloads
