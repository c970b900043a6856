// SPDX-License-Identifier: Apache-2.0
//
// A struct's fields as one list beside the struct, from which reading, writing and merging follow:
//   template <FieldsOf<Account> T, typename Field>
//   void for_each_field(T& account, Field&& field) {
//     field("updates", account.updates, Merging<AddUp>());
//   }
// The third argument (merging.h) is the rule that merges this field of two accounts; a struct that
// is never merged omits it.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace regatta {

/// True if `T` is `Part` or `const Part`.
template <typename T, typename Part>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Part>;

/// A field visitor that does nothing, for `requires`.
struct IgnoreField {
  template <typename... T>
  void operator()(const char*, T&&...) const {}
};

template <typename T>
concept HasFields = requires(T& part) {
  for_each_field(part, IgnoreField{});
};

/// Calls use(field of `one`, field of `other`, merging of the first) for each name that both lists
/// have with the same type.
template <HasFields One, HasFields Other, typename Use>
void for_each_pair(One& one, Other& other, Use use) {
  for_each_field(one, [&](std::string_view name, auto& mine, auto... merging) {
    for_each_field(other, [&](std::string_view their_name, auto& theirs, auto...) {
      using Mine = std::remove_cvref_t<decltype(mine)>;
      using Theirs = std::remove_cvref_t<decltype(theirs)>;
      if constexpr (std::same_as<Mine, Theirs>) {
        if (name == their_name) use(mine, theirs, merging...);
      }
    });
  });
}

}  // namespace regatta
