// SPDX-License-Identifier: Apache-2.0
//
// Decodes a chunk of arbitrary bytes, as given and with the checksum made right: a frame that
// decode() accepts, encode() must write as the same bytes.
#include "kernels/comm/grpc/frame.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

using Chunk = std::span<const std::uint8_t>;

/// The receiver's run, and the process at the other end of its stream.
constexpr std::string_view kRun = "0123456789abcdef0123456789abcdef";
constexpr std::int64_t kPeer = 3;

void read(Chunk chunk, const RunId& run_id) {
  const Chunk header = chunk.first(std::min(chunk.size(), kFrameBytes));
  const Decoded decoded =
      decode(header, {.run_id = run_id,
                      .from = kPeer,
                      .payload_bytes = static_cast<std::int64_t>(chunk.size() - header.size())});
  if (!decoded.error.empty()) return;
  std::array<std::uint8_t, kFrameBytes> again{};
  encode(decoded.frame, again);
  check(std::equal(again.begin(), again.end(), header.begin(), header.end()),
        "a frame is written as it was read");
}

template <typename T>
T number_at(Chunk chunk, std::size_t begin) {
  T number = 0;
  std::memcpy(&number, &chunk[begin], sizeof number);
  return number;
}

/// The chunk with magic, version and checksum made right.
std::vector<std::uint8_t> sealed(Chunk chunk) {
  Frame frame{.from = number_at<std::uint32_t>(chunk, 24),
              .message = number_at<std::uint32_t>(chunk, 28),
              .step = number_at<std::int64_t>(chunk, 32),
              .offset = number_at<std::int64_t>(chunk, 40),
              .total_bytes = number_at<std::int64_t>(chunk, 48),
              .payload_bytes = number_at<std::uint32_t>(chunk, 56)};
  std::copy_n(&chunk[8], frame.run_id.size(), frame.run_id.begin());
  std::vector<std::uint8_t> bytes(chunk.begin(), chunk.end());
  encode(frame, FrameBytes(bytes.data(), kFrameBytes));
  return bytes;
}

}  // namespace
}  // namespace regatta::comm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const regatta::comm::Chunk chunk(data, size);
  static const regatta::comm::RunId kRunId = regatta::comm::run_id_from_hex(regatta::comm::kRun);
  regatta::comm::read(chunk, kRunId);
  if (size >= regatta::comm::kFrameBytes) regatta::comm::read(regatta::comm::sealed(chunk), kRunId);
  return 0;
}
