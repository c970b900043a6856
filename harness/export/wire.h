// SPDX-License-Identifier: Apache-2.0
//
// The wire format of Protocol Buffers, as far as a writer of small messages needs it. A field is a
// varint of 8 * number + kind, then for kind 0 a varint, for kind 2 a length and so many bytes: a
// text, a message, or numbers packed as varints. A varint has seven bits a byte, the lowest first;
// the eighth bit says that more follow. Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regatta {

/// The number of a field in its message.
enum class Field : std::uint32_t {};

class WireMessage {
 public:
  void add(Field field, std::uint64_t number);
  void add(Field field, std::string_view text);
  void add(Field field, const WireMessage& message) {
    add(field, std::string_view(message.bytes_));
  }
  /// Nothing where there are none, as the format has it.
  void add_packed(Field field, std::span<const std::uint64_t> numbers);

  /// The message behind its length as a varint, by which several stand in one file.
  std::string delimited() const;

 private:
  std::string bytes_;
};

}  // namespace regatta
