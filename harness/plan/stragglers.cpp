// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/stragglers.h"

#include <algorithm>
#include <cstdio>

#include "kernels/graph/error.h"

namespace regatta {

std::map<int, double> parse_stragglers(const std::string& text) {
  std::map<int, double> stragglers;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    int worker = 0;
    double factor = 0;
    char rest = 0;
    if (std::sscanf(part.c_str(), "%d:%lf%c", &worker, &factor, &rest) != 2) {
      throw RunError(ErrorKind::Usage,
                     "--straggler '" + part + "' is not WORKER:FACTOR, such as 1:2.0");
    }
    stragglers[worker] = factor;
    begin = end + 1;
  }
  return stragglers;
}

}  // namespace regatta
