// SPDX-License-Identifier: Apache-2.0
//
// The header before each chunk of a message between processes: 64 bytes, little-endian.
//   bytes  0- 3  magic "RGTA"          bytes 32-39  step of the loop
//   bytes  4- 7  protocol version      bytes 40-47  offset of the chunk in the message
//   bytes  8-23  run id                bytes 48-55  total bytes of the message
//   bytes 24-27  sending process       bytes 56-59  payload bytes of this chunk
//   bytes 28-31  message number        bytes 60-63  CRC-32C of bytes 0-59
// decode() checks every field that it reads, and no size in a header causes an allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regatta::comm {

inline constexpr std::size_t kFrameBytes = 64;
inline constexpr std::uint32_t kFrameVersion = 1;

/// A run's random identifier; written as 32 hex digits.
using RunId = std::array<std::uint8_t, 16>;

/// Parses a run id. Throws: RunError(Usage) if `digits` are not 32 hex digits.
RunId run_id_from_hex(std::string_view digits);
std::string to_hex(const RunId& run_id);

struct Frame {
  RunId run_id{};
  std::int64_t from = 0;     ///< sending process, below 2^31
  std::int64_t message = 0;  ///< message number, below 2^31
  std::int64_t step = 0;
  std::int64_t offset = 0;         ///< offset of the chunk in the message. Units: bytes
  std::int64_t total_bytes = 0;    ///< size of the message
  std::int64_t payload_bytes = 0;  ///< size of this chunk, below 2^31
};

using FrameBytes = std::span<std::uint8_t, kFrameBytes>;
void encode(const Frame& frame, FrameBytes bytes);

/// Facts that the receiver knows from elsewhere and checks a header against.
struct FrameContext {
  RunId run_id{};
  std::int64_t from = 0;           ///< the process at the other end of the stream
  std::int64_t payload_bytes = 0;  ///< size of the payload after the header
};

/// A decoded frame, or the reason why the header is invalid: the field, its value and the expected
/// value.
struct Decoded {
  Frame frame;
  std::string error;  ///< empty: the frame is valid
};

/// Decodes and checks a header. Threads: any.
Decoded decode(std::span<const std::uint8_t> bytes, const FrameContext& context);

}  // namespace regatta::comm
