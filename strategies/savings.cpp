// SPDX-License-Identifier: Apache-2.0
#include "strategies/savings.h"

#include <utility>

#include "strategies/shared_options.h"

namespace regatta::strategies {

std::vector<Saving> savings(const std::string& strategy, const OptionValues& options) {
  std::vector<Saving> all;
  const auto with = [&](const std::string& flags, const Option& option, OptionValue value) {
    all.push_back({.flags = flags, .strategy = strategy, .options = options});
    all.back().options.insert_or_assign(std::string(option.name), std::move(value));
  };
  const ChosenOptions chosen{.given = options};
  const std::int64_t microbatches = chosen.count_if_any(kMicrobatches).value_or(1);
  for (const std::int64_t times : {2, 8}) {
    const std::int64_t more = times * microbatches;
    with("--microbatches " + std::to_string(more), kMicrobatches, more);
  }
  if (strategy == "all_reduce") {
    for (const std::string_view what : {kShardWords.front(), kShardWords.back()}) {
      with("--strategy sharded --shard " + std::string(what), kShard, std::string(what));
      all.back().strategy = "sharded";
    }
  }
  const std::string recomputed = chosen.choice(kRecompute);
  if (recomputed == kFull || recomputed == kSums) return all;
  const std::string full(kFull);
  for (Saving each : std::vector<Saving>(all)) {
    each.flags += " --recompute " + full;
    each.options.insert_or_assign(std::string(kRecompute.name), full);
    all.push_back(std::move(each));
  }
  with("--recompute " + full, kRecompute, full);
  return all;
}

}  // namespace regatta::strategies
