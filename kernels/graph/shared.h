// SPDX-License-Identifier: Apache-2.0
//
// Values whose copies hold them together: in a graph of many replicas nearly everything is a copy.
#pragma once

#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace regatta {

/// One value, or none, for which `T()` stands. It does not change but by assignment.
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

 private:
  inline static const T kNone{};
  std::shared_ptr<const T> value_;
};

/// Elements that do not change. Copies hold them once.
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
  std::shared_ptr<const std::vector<T>> values_;  ///< null: none
};

/// A list of elements each of which copies of the list hold once, until it changes in one of them.
template <typename T>
class ListOfShared {
 public:
  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    explicit Iterator(const std::shared_ptr<const T>* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    reference operator[](difference_type n) const { return *at_[n]; }
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) { return at_ += n, *this; }
    Iterator& operator-=(difference_type n) { return at_ -= n, *this; }
    friend Iterator operator+(Iterator a, difference_type n) { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    auto operator<=>(const Iterator&) const = default;

   private:
    const std::shared_ptr<const T>* at_ = nullptr;
  };

  Iterator begin() const { return Iterator(elements_.data()); }
  Iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size()); }
  std::size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  const T& operator[](std::size_t i) const { return *elements_[i]; }
  const T& at(std::size_t i) const { return *elements_.at(i); }
  const T& front() const { return *elements_.front(); }
  const T& back() const { return *elements_.back(); }

  void reserve(std::size_t count) { elements_.reserve(count); }
  void push_back(T element) { elements_.push_back(std::make_shared<const T>(std::move(element))); }
  /// Appends an element of another list, which both hold from now on.
  void share(const ListOfShared& other, std::size_t i) {
    elements_.push_back(other.elements_.at(i));
  }
  /// The element, which no other list has from now on.
  T& change(std::size_t i) {
    auto own = std::make_shared<T>(at(i));
    T& changed = *own;
    elements_[i] = std::move(own);
    return changed;
  }

 private:
  std::vector<std::shared_ptr<const T>> elements_;
};

}  // namespace regatta
