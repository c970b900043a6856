// SPDX-License-Identifier: Apache-2.0
//
// Immutable values whose copies share memory. They save memory in a graph with many replicas, where
// nearly every value is a copy of another.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace regatta {

/// One immutable value that all copies of this object share. An empty object dereferences to `T()`.
/// Only assignment changes the value.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(T value)  // NOLINT(google-explicit-constructor): it stands for one
      : value_(std::make_shared<const T>(std::move(value))) {}

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return value_ ? *value_ : kNone; }
  const T* operator->() const { return &**this; }
  void reset() { value_ = nullptr; }
  bool operator==(const Shared& other) const {
    return value_ == other.value_ || (value_ && other.value_ && *value_ == *other.value_);
  }

 private:
  inline static const T kNone{};
  std::shared_ptr<const T> value_;
};

/// An immutable list that copies share.
template <typename T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> values)  // NOLINT(google-explicit-constructor): it stands for one
      : values_(values.empty() ? nullptr
                               : std::make_shared<const std::vector<T>>(std::move(values))) {}
  SharedList(std::initializer_list<T> values) : SharedList(std::vector<T>(values)) {}

  operator const std::vector<T>&() const { return all(); }  // NOLINT: as above
  const std::vector<T>& all() const { return values_ ? *values_ : kNone; }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  std::size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const T& operator[](std::size_t i) const { return all()[i]; }
  const T& at(std::size_t i) const { return all().at(i); }
  const T& front() const { return all().front(); }
  const T& back() const { return all().back(); }
  bool operator==(const SharedList& other) const {
    return values_ == other.values_ || all() == other.all();
  }

 private:
  inline static const std::vector<T> kNone{};
  std::shared_ptr<const std::vector<T>> values_;  ///< null if empty
};

}  // namespace regatta
