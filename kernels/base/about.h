// SPDX-License-Identifier: Apache-2.0
//
// Declares a record's field: its meaning, unit and range. Lists of fields have a declaration beside
// each name, and results/schema.json is generated from them (schema.h).
#pragma once

#include <optional>
#include <string_view>

namespace regatta {

/// About::least of a number that may be negative.
inline constexpr double kAnyValue = -1;

/// The declaration of a field. An empty std::optional is null in the record.
struct About {
  std::string_view text;       ///< the field's meaning, in sentences
  std::string_view unit = "";  ///< empty: the one that the name ends in, such as `_ns`, or none
  int since = 1;               ///< version of the record that requires the field
  double least = 0;            ///< smallest value of a number
  std::optional<double> above = {};  ///< a number is larger than this
  std::string_view pattern = ".";    ///< regular expression that a text matches
  std::string_view values = "";      ///< the only values of a text: `on|off`; empty: any
  std::string_view each = "";        ///< meaning of an element of a list
};

}  // namespace regatta
