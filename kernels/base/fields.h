// SPDX-License-Identifier: Apache-2.0
//
// Describes a struct's fields in one list beside the struct, from which reading, writing and
// merging are generated:
//   template <FieldsOf<Account> T, typename Field>
//   void for_each_field(T& account, Field&& field) {
//     field("updates", account.updates, Merging<AddUp>());
//   }
// The third argument (merging.h) is the rule by which this field of two structs is merged; a struct
// that is never merged omits it.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace regatta {

/// True if `T` is `Part` or `const Part`.
template <typename T, typename Part>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Part>;

/// A field visitor that does nothing, for use in `requires` expressions.
struct IgnoreField {
  template <typename... T>
  void operator()(const char*, T&&...) const {}
};

template <typename T>
concept HasFields = requires(T& part) {
  for_each_field(part, IgnoreField{});
};

/// Calls use(field of `one`, field of `other`, Merging of the field of `one`) for each field that
/// both structs list with the same name and type.
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
