// SPDX-License-Identifier: Apache-2.0
#include "strategies/candidates.h"

#include <array>
#include <map>
#include <sstream>

#include "strategies/shared_options.h"

namespace regatta::strategies {
namespace {

/// S and T: stages and shards of a replica, whose product is less than the workers. M:
/// microbatches. Z: words of --shard.
constexpr std::array kRows = {
    "all_reduce",
    "all_reduce --microbatches M",
    "sharded --shard Z",
    "sharded --shard Z --microbatches M",
    "sharded --shard parameters --reshard-after-forward no",
    "pipeline --microbatches M",
    "all_reduce+pipeline --stages S --microbatches M",
    "sharded+pipeline --stages S --microbatches M",
    "tensor_parallel",
    "tensor_parallel --microbatches M",
    "all_reduce+tensor_parallel --shards T",
    "all_reduce+tensor_parallel --shards T --microbatches M",
    "all_reduce+tensor_parallel --shards T --sequence-parallel yes",
    "sharded+tensor_parallel --shards T --shard parameters",
    "all_reduce+pipeline+tensor_parallel --stages S --shards T --microbatches M",
    "context_parallel",
    "context_parallel --context-exchange ulysses",
    "all_reduce+context_parallel --shards T",
    "all_reduce+context_parallel --shards T --context-exchange ulysses",
    "all_reduce --recompute full",
    "sharded --shard Z --recompute full",
    "all_reduce+pipeline --stages S --microbatches M --recompute full",
};

using Words = std::vector<std::string>;
using Degrees = std::map<std::string, Words>;

/// Appends the row with every combination of its degrees. Words before `at` have values.
void expand(Words row, std::size_t at, const Degrees& degrees, std::vector<Words>& all) {
  while (at < row.size() && !degrees.contains(row[at])) ++at;
  if (at == row.size()) return all.push_back(std::move(row));
  for (const std::string& value : degrees.at(row[at])) {
    Words one = row;
    one[at] = value;
    expand(std::move(one), at + 1, degrees, all);
  }
}

/// The places of a replica that a row names; 1 if it names none.
std::int64_t places(const Words& row) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == "--stages" || row[i] == "--shards") product *= std::stoll(row[i + 1]);
  }
  return product;
}

}  // namespace

std::vector<Words> candidates(std::int64_t workers, std::span<const std::string> microbatches) {
  Degrees degrees = {{"M", Words(microbatches.begin(), microbatches.end())},
                     {"S", {}},
                     {"T", {}},
                     {"Z", Words(kShardWords.begin(), kShardWords.end())}};
  for (std::int64_t s = 2; s < workers && workers % s == 0; s *= 2) {
    degrees["S"].push_back(std::to_string(s));
  }
  degrees["T"] = degrees["S"];
  std::vector<Words> all;
  for (const char* text : kRows) {
    std::istringstream words(std::string("--strategy ") + text);
    Words row;
    for (std::string word; words >> word;) row.push_back(word);
    expand(std::move(row), 0, degrees, all);
  }
  std::erase_if(all, [&](const Words& row) { return places(row) >= workers; });
  return all;
}

}  // namespace regatta::strategies
