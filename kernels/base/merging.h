// SPDX-License-Identifier: Apache-2.0
//
// Merges two accounts of one run, field by field (fields.h). An account is a struct of
// measurements. The two accounts cover either two parts of the run at the same time (nodes,
// processes) or two successive periods of it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/base/fields.h"

namespace regatta {

/// The relation of two accounts that are merged: they cover two parts of a run at the same time, or
/// two successive periods of it.
enum class Across {
  Parts,
  Periods,  ///< the earlier period is merged into the later one
};

/// How a field is merged across the parts of a run (AcrossParts) and across successive periods of
/// it (AcrossPeriods). Each argument is one of the structs below, such as AddUp.
template <typename AcrossParts, typename AcrossPeriods = AcrossParts>
struct Merging {};

/// Merges each field of `part` into the same field of `all`, by the rule that the struct's list of
/// fields gives.
template <Across across, HasFields T>
void merge(T& all, const T& part) {
  for_each_pair(all, part, []<typename P, typename Q>(auto& to, const auto& from, Merging<P, Q>) {
    std::conditional_t<across == Across::Parts, P, Q>::template merge<across>(to, from);
  });
}

/// Merges vectors of numbers element by element; `all` is first extended with zeros if it is
/// shorter.
template <Across across, typename Rule, typename T>
void merge_elements(std::vector<T>& all, const std::vector<T>& part) {
  if (all.size() < part.size()) all.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) Rule::template merge<across>(all[i], part[i]);
}

/// Adds numbers and histograms. A struct is merged by its own list of fields. Structs in vectors
/// are merged if they have the same key_of(), and the result is sorted by that key.
struct AddUp {
  template <Across across, typename T>
  static void merge(T& all, const T& part) {
    if constexpr (HasFields<T>) {
      regatta::merge<across>(all, part);
    } else if constexpr (std::is_arithmetic_v<T>) {
      all += part;
    } else {
      all.add(part);
    }
  }
  template <Across across, typename T>
  static void merge(std::optional<T>& all, const std::optional<T>& part) {
    if (part) merge<across>(all ? *all : all.emplace(), *part);
  }
  template <Across across, typename Key, typename T>
  static void merge(std::map<Key, T>& all, const std::map<Key, T>& part) {
    for (const auto& [key, value] : part) merge<across>(all[key], value);
  }
  template <Across across, typename T>
  static void merge(std::vector<T>& all, const std::vector<T>& part) {
    merge_elements<across, AddUp>(all, part);
  }
  template <Across across, HasFields T>
  static void merge(std::vector<T>& all, const std::vector<T>& part) {
    for (const T& one : part) {
      const auto same = std::find_if(all.begin(), all.end(),
                                     [&](const T& other) { return key_of(other) == key_of(one); });
      if (same == all.end()) {
        all.push_back(one);
      } else {
        regatta::merge<across>(*same, one);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const T& a, const T& b) { return key_of(a) < key_of(b); });
  }
};

struct KeepLargest {
  template <Across across, typename T>
  static void merge(T& all, const T& part) {
    all = std::max(all, part);
  }
  template <Across across, typename T>
  static void merge(std::vector<T>& all, const std::vector<T>& part) {
    merge_elements<across, KeepLargest>(all, part);
  }
};

struct KeepLeast {
  template <Across across, typename T>
  static void merge(std::optional<T>& all, const std::optional<T>& part) {
    if (part) all = std::min(all.value_or(*part), *part);
  }
};

/// Unites two sets.
struct Unite {
  template <Across across, typename T>
  static void merge(T& all, const T& part) {
    all.insert(part.begin(), part.end());
  }
};

/// Puts the measurements of the earlier period, `former`, before those of the later one.
struct Prepend {
  template <Across across, typename T>
  static void merge(std::vector<T>& all, const std::vector<T>& former) {
    all.insert(all.begin(), former.begin(), former.end());
  }
};

/// Keeps the value in `all`: for fields that are equal in both accounts, or where only the later
/// period's value matters.
struct KeepOwn {
  template <Across across, typename T>
  static void merge(T&, const T&) {}
};

}  // namespace regatta
