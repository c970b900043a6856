// SPDX-License-Identifier: Apache-2.0
#include "harness/export/wire.h"

namespace regatta::exports {
namespace {

enum class WireKind : std::uint32_t { Varint = 0, Bytes = 2 };

void append_varint(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  bytes += static_cast<char>(number);
}

void append_tag(std::string& bytes, WireField field, WireKind kind) {
  append_varint(bytes, static_cast<std::uint32_t>(field) * 8 + static_cast<std::uint32_t>(kind));
}

}  // namespace

void WireMessage::add(WireField field, std::uint64_t number) {
  append_tag(bytes_, field, WireKind::Varint);
  append_varint(bytes_, number);
}

void WireMessage::add(WireField field, std::string_view text) {
  append_tag(bytes_, field, WireKind::Bytes);
  append_varint(bytes_, text.size());
  bytes_ += text;
}

void WireMessage::add_packed(WireField field, std::span<const std::uint64_t> numbers) {
  if (numbers.empty()) return;
  std::string packed;
  for (const std::uint64_t number : numbers) append_varint(packed, number);
  add(field, std::string_view(packed));
}

std::string WireMessage::delimited() const {
  std::string bytes;
  append_varint(bytes, bytes_.size());
  return bytes + bytes_;
}

}  // namespace regatta::exports
