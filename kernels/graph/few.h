// SPDX-License-Identifier: Apache-2.0
//
// A vector that stores a few elements inside the object, and allocates on the heap only for more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace regatta {

/// A vector that stores up to `kOwn` elements inside the object. Iterators and references become
/// invalid when the size changes and when the vector is moved from.
template <typename T, std::size_t kOwn>
class Few {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;

  Few() = default;
  Few(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <typename Iterator>
  Few(Iterator begin, Iterator end) {
    assign(begin, end);
  }
  Few(const Few& other) { assign(other.begin(), other.end()); }
  Few(Few&& other) noexcept { take(other); }
  Few& operator=(const Few& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  Few& operator=(Few&& other) noexcept {
    if (this != &other) {
      free();
      take(other);
    }
    return *this;
  }
  ~Few() { free(); }

  /// Replaces all elements. The range must not be part of this vector.
  template <typename Iterator>
  void assign(Iterator begin, Iterator end) {
    size_ = 0;
    for (; begin != end; ++begin) push_back(*begin);
  }
  void push_back(const T& value) {
    const T copy = value;  // `value` may be an element of this list
    if (size_ == capacity_) grow();
    std::construct_at(data() + size_, copy);
    ++size_;
  }
  void clear() { size_ = 0; }

  T* data() { return capacity_ > kOwn ? space_.more : space_.own; }
  const T* data() const { return capacity_ > kOwn ? space_.more : space_.own; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return std::span(data(), size_)[i]; }
  const T& operator[](std::size_t i) const { return std::span(data(), size_)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }
  friend bool operator==(const Few& a, const Few& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  union Space {
    Space() : more(nullptr) {}
    T own[kOwn];
    T* more;
  };

  void grow() {
    const std::uint32_t capacity = 2 * capacity_;
    T* more = std::allocator<T>().allocate(capacity);
    std::uninitialized_copy(begin(), end(), more);
    free();
    space_.more = more;
    capacity_ = capacity;
  }
  /// Takes over the elements of `other`, which is empty afterwards.
  void take(Few& other) noexcept {
    if (other.capacity_ > kOwn) {
      space_.more = other.space_.more;
    } else {
      std::uninitialized_copy(other.begin(), other.end(), space_.own);
    }
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(kOwn));
  }
  void free() {
    if (capacity_ > kOwn) std::allocator<T>().deallocate(space_.more, capacity_);
    capacity_ = kOwn;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kOwn;
  Space space_;
};

}  // namespace regatta
