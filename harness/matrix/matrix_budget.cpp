// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace regatta::matrix {

std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left) {
  if (seconds_left <= 0) return std::nullopt;
  const auto index_of = [&](const auto& holds) -> std::optional<std::size_t> {
    const auto at = std::find_if(missing.begin(), missing.end(), holds);
    if (at == missing.end()) return std::nullopt;
    return static_cast<std::size_t>(at - missing.begin());
  };
  const auto first = index_of([&](const MissingRun& run) { return !begun.contains(run.cell); });
  if (first) return first;
  return index_of([&](const MissingRun& run) { return run.seconds.value_or(0) <= seconds_left; });
}

std::string few_of(std::span<const std::string> names, std::size_t most) {
  constexpr std::string_view kMore = " and 1000 more";
  std::string text = names.empty() ? "" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::size_t rest = i + 1 < names.size() ? kMore.size() : 0;
    if (text.size() + 2 + names[i].size() + rest > most) {
      return text + fmt::format(" and {} more", names.size() - i);
    }
    text += ", " + names[i];
  }
  return text;
}

}  // namespace regatta::matrix
