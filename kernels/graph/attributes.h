// SPDX-License-Identifier: Apache-2.0
//
// The constants of a node: a small list of names and values, sorted by name. They are read while a
// graph is checked and while a kernel is constructed, never while a step runs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

class Attributes {
 public:
  using Value = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                             std::vector<double>>;

  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Value>> values);

  /// Adds the attribute or replaces its value.
  void set(std::string_view name, Value value);
  /// Erases the attribute if it is there.
  void erase(std::string_view name);
  bool has(std::string_view name) const;

  /// Returns the value of the attribute. Aborts if it does not exist or has another type.
  std::int64_t integer(std::string_view name) const;
  /// Returns `otherwise` if the attribute does not exist.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;

  const std::vector<std::pair<std::string, Value>>& values() const {
    return values_ ? *values_ : kNone;
  }
  bool operator==(const Attributes& other) const {
    return values_ == other.values_ || values() == other.values();
  }

 private:
  using Values = std::vector<std::pair<std::string, Value>>;  // sorted by name

  const Value* find(std::string_view name) const;

  static const Values kNone;
  std::shared_ptr<const Values> values_;  ///< shared by copies; null: none
};

/// Returns text such as `kernel=3, padding=1, stride=1`.
std::string to_string(const Attributes& attributes);

}  // namespace regatta
