// SPDX-License-Identifier: Apache-2.0
//
// Serialises values for messages between processes and for checkpoints. Numbers are stored as in
// memory, little-endian. A string or container is stored as its 64-bit count, then its elements; an
// optional as a byte 0, or a byte 1 and the value; a struct as the fields that for_each_field()
// lists (fields.h), each preceded by its name, so that a reader with other fields rejects it. The
// reader allocates memory only for elements that are there, so arbitrary bytes give values or an
// error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/fields.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta::system {

static_assert(std::endian::native == std::endian::little);

class ByteWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void write(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void write(std::string_view text) {
    write(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const Place& place) {
    write(place.replica);
    write(place.stage);
    write(place.shard);
    write(static_cast<std::uint8_t>(place.role));
  }
  /// Writes the histogram's sum, its largest value, and the counts up to the last that is not zero.
  void write(const SpanHistogram& spans) {
    const SpanHistogram::Counts& counts = spans.counts();
    const auto end = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
    write(spans.sum());
    write(spans.largest());
    write(std::vector(counts.begin(), end.base()));
  }
  template <HasFields T>
  void write(const T& part) {
    for_each_field(part, [this](std::string_view name, const auto& value, auto...) {
      write(name);
      write(value);
    });
  }
  template <typename A, typename B>
  void write(const std::pair<A, B>& pair) {
    write(pair.first);
    write(pair.second);
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <std::ranges::range T>
  void write(const T& values) {
    write(std::uint64_t{values.size()});
    for (const auto& value : values) write(value);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads values that a ByteWriter wrote. Throws: RunError(Data) that names the position of the
/// first unexpected byte.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : size_(bytes.size()), left_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void read(T& value) { std::memcpy(&value, taken(sizeof value).data(), sizeof value); }
  void read(bool& value) {
    const std::uint8_t byte = read_as<std::uint8_t>();
    if (byte > 1) refuse("there is neither yes nor no");
    value = byte == 1;
  }
  void read(std::string& text) { text = taken(read_as<std::uint64_t>()); }
  void read(Place& place) {
    read(place.replica);
    read(place.stage);
    read(place.shard);
    const std::uint8_t role = read_as<std::uint8_t>();
    if (role > static_cast<std::uint8_t>(kLastRole)) refuse("a place has no such role");
    place.role = static_cast<Role>(role);
  }
  void read(SpanHistogram& spans) {
    const auto sum = read_as<std::int64_t>(), largest = read_as<std::int64_t>();
    const auto given = read_as<std::vector<std::uint32_t>>();
    SpanHistogram::Counts counts{};
    if (sum < 0 || largest < 0 || given.size() > counts.size()) refuse("there is no histogram");
    std::copy(given.begin(), given.end(), counts.begin());
    spans = SpanHistogram::of(counts, sum, largest);
  }
  template <HasFields T>
  void read(T& part) {
    for_each_field(part, [this](std::string_view name, auto& value, auto...) {
      if (taken(read_as<std::uint64_t>()) != name) refuse("there is no " + std::string(name));
      read(value);
    });
  }
  template <typename A, typename B>
  void read(std::pair<A, B>& pair) {
    read(pair.first);
    read(pair.second);
  }
  template <typename T>
  void read(std::optional<T>& value) {
    value.reset();
    if (read_as<bool>()) read(value.emplace());
  }
  template <std::ranges::range T>
  void read(T& values) {
    values.clear();
    for (auto count = read_as<std::uint64_t>(); count > 0; --count) {
      if constexpr (requires { typename T::mapped_type; }) {
        read(values[read_as<typename T::key_type>()]);
      } else {
        values.insert(values.end(), read_as<typename T::value_type>());
      }
    }
  }

  /// Requires that all bytes were read.
  void finish() const {
    if (!left_.empty()) refuse("more follows");
  }

 private:
  template <typename T>
  T read_as() {
    T value{};
    read(value);
    return value;
  }
  std::string_view taken(std::uint64_t bytes) {
    if (bytes > left_.size()) refuse("it is cut short");
    const std::string_view begin = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return begin;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw RunError(ErrorKind::Data, "at byte " + std::to_string(size_ - left_.size()) + " of " +
                                        std::to_string(size_) + " " + what);
  }

  std::size_t size_;
  std::string_view left_;
};

template <typename T>
std::string bytes_of(const T& value) {
  ByteWriter writer;
  writer.write(value);
  return writer.take();
}

/// Reads a `T` from `bytes`. Throws: RunError(Data) if the bytes do not encode exactly one `T`.
template <typename T>
T value_in(std::string_view bytes) {
  T value;
  ByteReader reader(bytes);
  reader.read(value);
  reader.finish();
  return value;
}

}  // namespace regatta::system
