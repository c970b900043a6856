// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/frame.h"

#include <algorithm>
#include <limits>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

constexpr std::uint32_t kMagic = 0x41544752;  // "RGTA"
constexpr std::size_t kCheckedBytes = 60;
constexpr std::int64_t kNumberLimit = std::numeric_limits<std::int32_t>::max();

/// Makes the table of CRC-32C (Castagnoli), reflected. Source: RFC 3720, appendix B.4.
constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? (value >> 1) ^ 0x82F63B78U : value >> 1;
    }
    table[i] = value;
  }
  return table;
}

std::uint32_t crc(std::span<const std::uint8_t> bytes) {
  static constexpr auto kTable = make_crc_table();
  std::uint32_t value = 0xFFFFFFFFU;
  for (std::uint8_t byte : bytes) value = kTable[(value ^ byte) & 0xFF] ^ (value >> 8);
  return ~value;
}

void put(std::uint8_t* to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get(const std::uint8_t* from, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

std::string differs(std::string_view field, std::uint64_t says, std::uint64_t must) {
  return std::string(field) + " is " + std::to_string(says) + ", must be " + std::to_string(must);
}

std::string exceeds(std::string_view field, std::uint64_t says, std::uint64_t limit) {
  return std::string(field) + " is " + std::to_string(says) + ", must be at most " +
         std::to_string(limit);
}

/// A header's numbers as they are encoded, before any check.
struct Raw {
  explicit Raw(const std::uint8_t* bytes)
      : magic(get(bytes, 4)),
        version(get(bytes + 4, 4)),
        from(get(bytes + 24, 4)),
        message(get(bytes + 28, 4)),
        step(get(bytes + 32, 8)),
        offset(get(bytes + 40, 8)),
        total(get(bytes + 48, 8)),
        payload(get(bytes + 56, 4)),
        check(get(bytes + 60, 4)) {}
  std::uint64_t magic, version, from, message, step, offset, total, payload, check;
};

std::string error_in(const Raw& raw, const RunId& run_id, const FrameContext& context) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto payload = static_cast<std::uint64_t>(context.payload_bytes);
  if (run_id != context.run_id) {
    return "run id is " + to_hex(run_id) + ", must be " + to_hex(context.run_id);
  }
  if (raw.from != static_cast<std::uint64_t>(context.from)) {
    return differs("process", raw.from, static_cast<std::uint64_t>(context.from));
  }
  if (raw.message > kNumberLimit) return exceeds("message", raw.message, kNumberLimit);
  if (raw.step > kLargest) return exceeds("step", raw.step, kLargest);
  if (raw.payload != payload) return differs("payload length", raw.payload, payload);
  if (raw.payload == 0) return "payload length is 0, must be at least 1";
  if (raw.total > kLargest) return exceeds("total length", raw.total, kLargest);
  if (raw.offset > raw.total) return exceeds("offset", raw.offset, raw.total);
  if (raw.payload > raw.total - raw.offset) {
    return exceeds("payload length", raw.payload, raw.total - raw.offset);
  }
  return {};
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

RunId run_id_from_hex(std::string_view digits) {
  RunId run_id;
  const bool hex = std::all_of(digits.begin(), digits.end(), [](char c) { return digit(c) >= 0; });
  if (digits.size() != 2 * run_id.size() || !hex) {
    throw RunError(ErrorKind::Usage,
                   "a run id is 32 hex digits, not '" + std::string(digits) + "'");
  }
  for (std::size_t i = 0; i < run_id.size(); ++i) {
    run_id[i] = static_cast<std::uint8_t>(16 * digit(digits[2 * i]) + digit(digits[2 * i + 1]));
  }
  return run_id;
}

std::string to_hex(const RunId& run_id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (std::uint8_t byte : run_id) {
    digits += kDigits[byte / 16];
    digits += kDigits[byte % 16];
  }
  return digits;
}

void encode(const Frame& frame, FrameBytes bytes) {
  std::uint8_t* const to = bytes.data();
  put(to, kMagic, 4);
  put(to + 4, kFrameVersion, 4);
  std::copy(frame.run_id.begin(), frame.run_id.end(), to + 8);
  put(to + 24, static_cast<std::uint64_t>(frame.from), 4);
  put(to + 28, static_cast<std::uint64_t>(frame.message), 4);
  put(to + 32, static_cast<std::uint64_t>(frame.step), 8);
  put(to + 40, static_cast<std::uint64_t>(frame.offset), 8);
  put(to + 48, static_cast<std::uint64_t>(frame.total_bytes), 8);
  put(to + 56, static_cast<std::uint64_t>(frame.payload_bytes), 4);
  put(to + 60, crc(bytes.first(kCheckedBytes)), 4);
}

Decoded decode(std::span<const std::uint8_t> bytes, const FrameContext& context) {
  if (bytes.size() < kFrameBytes) {
    return {.frame = {}, .error = differs("header length", bytes.size(), kFrameBytes)};
  }
  const Raw raw(bytes.data());
  if (raw.magic != kMagic) return {.frame = {}, .error = differs("magic", raw.magic, kMagic)};
  if (raw.version != kFrameVersion) {
    return {.frame = {}, .error = differs("protocol version", raw.version, kFrameVersion)};
  }
  const std::uint32_t sum = crc(bytes.first(kCheckedBytes));
  if (raw.check != sum) return {.frame = {}, .error = differs("checksum", raw.check, sum)};
  RunId run_id;
  std::copy_n(bytes.data() + 8, run_id.size(), run_id.begin());
  std::string error = error_in(raw, run_id, context);
  if (!error.empty()) return {.frame = {}, .error = std::move(error)};
  return {.frame = {.run_id = run_id,
                    .from = static_cast<std::int64_t>(raw.from),
                    .message = static_cast<std::int64_t>(raw.message),
                    .step = static_cast<std::int64_t>(raw.step),
                    .offset = static_cast<std::int64_t>(raw.offset),
                    .total_bytes = static_cast<std::int64_t>(raw.total),
                    .payload_bytes = static_cast<std::int64_t>(raw.payload)},
          .error = {}};
}

}  // namespace regatta::comm
