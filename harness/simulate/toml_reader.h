// SPDX-License-Identifier: Apache-2.0
//
// Reads checked values from a TOML file. Errors name the file, the key and the valid range.
#pragma once

#include <toml++/toml.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::simulate {

using NumberRange = std::array<double, 2>;

/// Parses the text of a file, which `source` names in errors. Throws: RunError(Usage).
toml::table parse_toml(const std::string& text, const std::string& source);

class TomlReader {
 public:
  explicit TomlReader(std::string source) : source_(std::move(source)) {}

 protected:
  RunError error(const std::string& what) const {
    return {ErrorKind::Usage, source_ + ": " + what};
  }
  /// Throws if the table has other keys.
  void allow(const toml::table& table, const std::vector<std::string>& keys) const;
  std::int64_t whole(const toml::table& table, const char* key, std::int64_t by_default,
                     std::array<std::int64_t, 2> range) const;
  std::optional<double> real(const toml::table& table, const char* key, NumberRange range) const;
  double in_range(const toml::node& node, const char* what, NumberRange range) const;
  /// The word at a key; empty without it.
  std::string word(const toml::table& table, const char* key) const;
  /// The rows of a list of lists of numbers, with one range for each column; none without the key.
  std::vector<std::vector<double>> rows(const toml::table& table, const char* key,
                                        const std::vector<NumberRange>& ranges) const;

 private:
  std::string source_;
};

}  // namespace regatta::simulate
