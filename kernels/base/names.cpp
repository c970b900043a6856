// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/names.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace regatta {
namespace {

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(const std::string& given, std::span<const std::string> names) {
  std::string nearest;
  std::size_t least = given.size() / 2 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

RunError unknown_name(const std::string& what, const std::string& given,
                      std::span<const std::string> names) {
  const std::string nearest = nearest_name(given, names);
  std::string text = "unknown " + what + " '" + given + "'";
  if (!nearest.empty()) text += "; did you mean '" + nearest + "'?";
  text += " (valid:";
  for (const std::string& name : names) text += ' ' + name;
  return {ErrorKind::Usage, text + ')'};
}

}  // namespace regatta
