// SPDX-License-Identifier: Apache-2.0
//
// The wire format of Protocol Buffers, for writers of small messages. A field is a varint of
// 8 * number + kind, then for kind 0 a varint, for kind 2 a length and that many bytes: a text, a
// message, or numbers packed as varints. A varint has seven bits a byte, the lowest first; the
// eighth bit means that more follow. Source: protobuf.dev/programming-guides/encoding.
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
  /// Writes no field if there are no numbers, as the format requires.
  void add_packed(Field field, std::span<const std::uint64_t> numbers);

  /// The message after its length as a varint, which lets one file hold several.
  std::string delimited() const;

 private:
  std::string bytes_;
};

}  // namespace regatta
