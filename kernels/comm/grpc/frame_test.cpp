// SPDX-License-Identifier: Apache-2.0
//
// The header of a chunk: every field survives encoding, and bytes that differ from such a header in
// content or length are refused.
#include "kernels/comm/grpc/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

using Header = std::array<std::uint8_t, kFrameBytes>;

const RunId kRun = run_id_from_hex("0123456789abcdef0123456789ABCDEF");

Frame sound_frame() {
  return {.run_id = kRun,
          .from = 3,
          .message = 17,
          .step = 1'000'000'007,
          .offset = 5'000'000'000,
          .total_bytes = 6'000'000'000,
          .payload_bytes = 1 << 20};
}

FrameContext context_of(const Frame& frame) {
  return {.run_id = frame.run_id, .from = frame.from, .payload_bytes = frame.payload_bytes};
}

Header encoded(const Frame& frame) {
  Header bytes{};
  encode(frame, bytes);
  return bytes;
}

bool equal(const Frame& a, const Frame& b) {
  return a.run_id == b.run_id && a.from == b.from && a.message == b.message && a.step == b.step &&
         a.offset == b.offset && a.total_bytes == b.total_bytes &&
         a.payload_bytes == b.payload_bytes;
}

TEST(Frame, SurvivesEncodingAndDecoding) {
  const Frame frame = sound_frame();
  const Decoded decoded = decode(encoded(frame), context_of(frame));
  EXPECT_EQ(decoded.error, "");
  EXPECT_TRUE(equal(decoded.frame, frame));
}

TEST(Frame, HasItsBytesInTheOrderOfTheFormat) {
  const Header bytes = encoded(sound_frame());
  EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 4), "RGTA");
  EXPECT_EQ(bytes[4], kFrameVersion);
  EXPECT_EQ(bytes[8], 0x01);
  EXPECT_EQ(bytes[23], 0xEF);
  EXPECT_EQ(bytes[24], 3);
  EXPECT_EQ(bytes[28], 17);
  EXPECT_EQ(bytes[32], 1'000'000'007 & 0xFF);
}

struct Wrong {
  std::string error;
  std::function<void(Frame&)> change;
};

TEST(Frame, NamesTheFieldThatIsWrongAndBothValues) {
  const std::vector<Wrong> cases = {
      {"process is 4, must be 3", [](Frame& f) { f.from = 4; }},
      {"payload length is 100, must be 1048576", [](Frame& f) { f.payload_bytes = 100; }},
      {"offset is 6000000001, must be at most 6000000000",
       [](Frame& f) { f.offset = 6'000'000'001; }},
      {"payload length is 1048576, must be at most 1048575",
       [](Frame& f) { f.offset = f.total_bytes - (1 << 20) + 1; }},
      {"step is 18446744073709551615, must be at most 9223372036854775807",
       [](Frame& f) { f.step = -1; }},
      {"total length is 18446744073709551615, must be at most 9223372036854775807",
       [](Frame& f) { f.total_bytes = -1; }},
      {"message is 4294967295, must be at most 2147483647", [](Frame& f) { f.message = -1; }},
      {"run id is 0023456789abcdef0123456789abcdef, must be 0123456789abcdef0123456789abcdef",
       [](Frame& f) { f.run_id[0] = 0; }}};
  for (const Wrong& wrong : cases) {
    Frame frame = sound_frame();
    wrong.change(frame);
    EXPECT_EQ(decode(encoded(frame), context_of(sound_frame())).error, wrong.error);
  }
  Header bytes = encoded(sound_frame());
  bytes[4] = 2;
  EXPECT_EQ(decode(bytes, context_of(sound_frame())).error, "protocol version is 2, must be 1");
}

TEST(Frame, RefusesAChunkWithoutPayload) {
  Frame frame = sound_frame();
  frame.payload_bytes = 0;
  EXPECT_EQ(decode(encoded(frame), context_of(frame)).error,
            "payload length is 0, must be at least 1");
}

TEST(Frame, RefusesARunIdThatIsNot32HexDigits) {
  for (const char* digits :
       {"", "12", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0"}) {
    EXPECT_THROW(run_id_from_hex(digits), RunError) << digits;
  }
}

/// A random valid frame; its numbers are at the limits as often as between them.
Frame random_frame(std::mt19937_64& random) {
  const auto number = [&](std::int64_t limit) {
    const auto kind = random() % 4;
    if (kind == 0) return std::int64_t{0};
    if (kind == 1) return limit;
    return static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(limit) + 1));
  };
  constexpr std::int64_t kInt = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kLong = std::numeric_limits<std::int64_t>::max();
  Frame frame{.run_id = kRun, .from = number(kInt), .message = number(kInt), .step = number(kLong)};
  frame.total_bytes = 1 + number(kLong - 1);
  frame.offset = number(frame.total_bytes - 1);
  frame.payload_bytes = 1 + number(std::min(kInt, frame.total_bytes - frame.offset) - 1);
  return frame;
}

constexpr int kRounds = 300'000;

TEST(FrameFuzz, AcceptsEveryFrameThatASenderCanMean) {
  std::mt19937_64 random(1);
  for (int round = 0; round < kRounds; ++round) {
    const Frame frame = random_frame(random);
    const Decoded decoded = decode(encoded(frame), context_of(frame));
    ASSERT_EQ(decoded.error, "");
    ASSERT_TRUE(equal(decoded.frame, frame));
  }
}

TEST(FrameFuzz, RefusesRandomBytesOfAnyLength) {
  std::mt19937_64 random(2);
  for (int round = 0; round < kRounds; ++round) {
    // Memory of exactly that size lets the address sanitizer find a read beyond it.
    std::vector<std::uint8_t> bytes(random() % 200);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    ASSERT_NE(decode(bytes, context_of(sound_frame())).error, "");
  }
}

TEST(FrameFuzz, RefusesEveryFrameThatWasCutShort) {
  const Header bytes = encoded(sound_frame());
  for (std::size_t length = 0; length < kFrameBytes; ++length) {
    const std::vector<std::uint8_t> cut(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(decode(cut, context_of(sound_frame())).error, "") << length;
  }
}

TEST(FrameFuzz, RefusesFramesWithAnyBytesChanged) {
  std::mt19937_64 random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Frame frame = random_frame(random);
    const Header sound = encoded(frame);
    Header bytes = sound;
    for (auto changes = random() % 8; changes-- > 0;) {
      bytes[random() % kFrameBytes] = static_cast<std::uint8_t>(random());
    }
    const bool same = bytes == sound;
    ASSERT_EQ(decode(bytes, context_of(frame)).error.empty(), same);
  }
}

/// A stranger can compute the right checksum: the numbers themselves must be refused.
TEST(FrameFuzz, RefusesRandomNumbersUnderARightChecksum) {
  std::mt19937_64 random(4);
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    Frame frame = random_frame(random);
    const FrameContext context = context_of(frame);
    std::int64_t* const fields[] = {&frame.from,   &frame.message,     &frame.step,
                                    &frame.offset, &frame.total_bytes, &frame.payload_bytes};
    *fields[random() % 6] = static_cast<std::int64_t>(random());
    const Decoded decoded = decode(encoded(frame), context);
    if (!decoded.error.empty()) continue;
    ++accepted;
    const Frame& read = decoded.frame;
    ASSERT_EQ(read.from, context.from);
    ASSERT_EQ(read.payload_bytes, context.payload_bytes);
    ASSERT_GE(read.message, 0);
    ASSERT_GE(read.step, 0);
    ASSERT_GE(read.offset, 0);
    ASSERT_GE(read.total_bytes - read.offset, read.payload_bytes);
  }
  EXPECT_GT(accepted, 0);  // any step is valid, for one
}

}  // namespace
}  // namespace regatta::comm
