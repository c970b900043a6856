// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/stragglers.h"

#include <cstdint>
#include <limits>
#include <sstream>

#include "harness/system/number.h"
#include "kernels/base/error.h"

namespace regatta::plan {

std::map<int, double> parse_stragglers(const std::string& text) {
  const std::string flag = "--straggler";
  std::map<int, double> stragglers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.find(':');
    if (colon == part.npos) {
      throw RunError(ErrorKind::Usage,
                     flag + " '" + part + "' is not WORKER:FACTOR, such as 1:2.0");
    }
    const auto worker = system::parse_number<std::int64_t>(
        flag, part.substr(0, colon), {.least = 0, .most = std::numeric_limits<int>::max()});
    const bool first = stragglers
                           .emplace(static_cast<int>(worker),
                                    system::parse_number<double>(flag, part.substr(colon + 1)))
                           .second;
    if (!first)
      throw RunError(ErrorKind::Usage, flag + " names worker " + std::to_string(worker) + " twice");
  }
  return stragglers;
}

}  // namespace regatta::plan
