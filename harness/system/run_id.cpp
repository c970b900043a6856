// SPDX-License-Identifier: Apache-2.0
#include "harness/system/run_id.h"

#include <sys/random.h>

#include <cstdio>
#include <ctime>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::system {

std::string random_hexadecimal(int bytes) {
  std::vector<unsigned char> values(static_cast<std::size_t>(bytes));
  const auto got = getrandom(values.data(), values.size(), 0);
  check(got == static_cast<ssize_t>(values.size()), "the system has random bytes");
  std::string text;
  for (unsigned char value : values) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", value);
    text += digits;
  }
  return text;
}

std::string utc_timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace regatta::system
