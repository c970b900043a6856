// SPDX-License-Identifier: Apache-2.0
//
// Formats small messages in the wire format of Protocol Buffers. A field is the varint
// 8 * number + wire type, followed by its value: a varint for wire type 0, a length and as many
// bytes for wire type 2 (a text, a message, or numbers packed as varints). A varint has seven bits
// per byte, lowest first; the eighth bit is set if another byte follows.
// Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regatta::exports {

/// The number of a field in its message's definition.
enum class WireField : std::uint32_t {};

class WireMessage {
 public:
  void add(WireField field, std::uint64_t number);
  void add(WireField field, std::string_view text);
  void add(WireField field, const WireMessage& message) {
    add(field, std::string_view(message.bytes_));
  }
  /// Adds a field of packed numbers; no field if there are no numbers, as the format requires.
  void add_packed(WireField field, std::span<const std::uint64_t> numbers);

  /// Returns the message preceded by its length as a varint, so that one file can hold several.
  std::string delimited() const;

 private:
  std::string bytes_;
};

}  // namespace regatta::exports
