// SPDX-License-Identifier: Apache-2.0
//
// Sets environment variables of this process for the duration of a test.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace regatta::testing_support {

/// Sets variables that must be unset before, and unsets them afterwards.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<const std::string, std::string>> values)
      : values_(values) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace regatta::testing_support
