// SPDX-License-Identifier: Apache-2.0
//
// A random-access range over elements that the owner returns by value.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <utility>

namespace regatta {

template <auto kAt>
class Elements;

/// A range whose element i is `(owner.*kAt)(i)`. The owner must outlive the range and its
/// iterators; iterators stay valid after the range is destroyed.
template <typename Owner, typename T, T (Owner::*kAt)(int) const>
class Elements<kAt> {
 public:
  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    /// Holds the element while `->` accesses one of its members.
    class Pointer {
     public:
      explicit Pointer(T element) : element_(std::move(element)) {}
      const T* operator->() const { return &element_; }

     private:
      T element_;
    };
    using pointer = Pointer;

    Iterator() = default;
    Iterator(const Owner* owner, difference_type at) : owner_(owner), at_(at) {}
    T operator*() const { return (owner_->*kAt)(static_cast<int>(at_)); }
    Pointer operator->() const { return Pointer(**this); }
    T operator[](difference_type n) const { return *(*this + n); }
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
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const Owner* owner_ = nullptr;
    difference_type at_ = 0;
  };

  Elements(const Owner& owner, std::size_t size) : owner_(&owner), size_(size) {}
  Iterator begin() const { return {owner_, 0}; }
  Iterator end() const { return {owner_, static_cast<std::ptrdiff_t>(size_)}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](std::size_t i) const { return (owner_->*kAt)(static_cast<int>(i)); }
  T front() const { return (*this)[0]; }
  T back() const { return (*this)[size_ - 1]; }

 private:
  const Owner* owner_;
  std::size_t size_;
};

}  // namespace regatta
