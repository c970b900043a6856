// SPDX-License-Identifier: Apache-2.0
//
// The header of a chunk: every field survives encoding, and bytes that differ from such a header in
// content or length are refused.
#include "kernels/comm/grpc/frame.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
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
  constexpr std::int64_t kInt = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kLong = std::numeric_limits<std::int64_t>::max();
  const Frame largest{.run_id = kRun,
                      .from = kInt,
                      .message = kInt,
                      .step = kLong,
                      .offset = kLong - kInt,
                      .total_bytes = kLong,
                      .payload_bytes = kInt};
  for (const Frame& frame : {sound_frame(), largest}) {
    const Decoded decoded = decode(encoded(frame), context_of(frame));
    EXPECT_EQ(decoded.error, "");
    EXPECT_TRUE(equal(decoded.frame, frame));
  }
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

TEST(Frame, RefusesAHeaderThatIsCutShortOrHasAByteChanged) {
  const Header sound = encoded(sound_frame());
  for (std::size_t i = 0; i < kFrameBytes; ++i) {
    // Memory of exactly that size lets the address sanitizer find a read beyond it.
    const std::vector<std::uint8_t> cut(sound.data(), sound.data() + i);
    EXPECT_NE(decode(cut, context_of(sound_frame())).error, "") << i;
    Header changed = sound;
    changed[i] ^= 0x40;
    EXPECT_NE(decode(changed, context_of(sound_frame())).error, "") << i;
  }
}

}  // namespace
}  // namespace regatta::comm
