// SPDX-License-Identifier: Apache-2.0
//
// 64 steps a block: a = b + rotate_left(a + f(b, c, d) + word[k] + sine[i], shift), then the four
// registers move on by one; f, k and shift change every 16 steps. Words are little-endian.
#include "workloads/data/md5.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace regatta {
namespace {

/// floor(2^32 |sin(i + 1)|). Source: RFC 1321, section 3.4.
constexpr std::array<std::uint32_t, 64> kSine = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

constexpr int kShift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

struct Registers {
  std::uint32_t a, b, c, d;
};

template <std::size_t kStep>
inline void step(Registers& r, const std::array<std::uint32_t, 16>& word) {
  constexpr std::size_t kRound = kStep / 16;
  std::uint32_t f = 0;
  std::size_t k = 0;
  if constexpr (kRound == 0) {
    f = r.d ^ (r.b & (r.c ^ r.d));
    k = kStep;
  } else if constexpr (kRound == 1) {
    f = r.c ^ (r.d & (r.b ^ r.c));
    k = (5 * kStep + 1) % 16;
  } else if constexpr (kRound == 2) {
    f = r.b ^ r.c ^ r.d;
    k = (3 * kStep + 5) % 16;
  } else {
    f = r.c ^ (r.b | ~r.d);
    k = (7 * kStep) % 16;
  }
  const std::uint32_t sum = r.a + f + word[k] + kSine[kStep];
  r = {r.d, r.b + std::rotl(sum, kShift[kRound][kStep % 4]), r.b, r.c};
}

template <std::size_t... kSteps>
inline void all_steps(Registers& r, const std::array<std::uint32_t, 16>& word,
                      std::index_sequence<kSteps...>) {
  (step<kSteps>(r, word), ...);
}

std::uint32_t load_little_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

}  // namespace

void Md5::add_blocks(const unsigned char* block, std::size_t block_count) {
  std::array<std::uint32_t, 16> word;
  for (std::size_t n = 0; n < block_count; ++n, block += kBlockBytes) {
    for (std::size_t i = 0; i < 16; ++i) word[i] = load_little_endian(block + 4 * i);
    Registers r{state_[0], state_[1], state_[2], state_[3]};
    all_steps(r, word, std::make_index_sequence<64>());
    state_ = {state_[0] + r.a, state_[1] + r.b, state_[2] + r.c, state_[3] + r.d};
  }
}

void Md5::update(const void* data, std::size_t size_bytes) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t held = message_bytes_ % kBlockBytes;
  message_bytes_ += size_bytes;
  if (held > 0) {
    const std::size_t taken = std::min(kBlockBytes - held, size_bytes);
    std::copy_n(bytes, taken, pending_.begin() + static_cast<std::ptrdiff_t>(held));
    if (held + taken < kBlockBytes) return;
    add_blocks(pending_.data(), 1);
    bytes += taken;
    size_bytes -= taken;
  }
  const std::size_t whole = size_bytes / kBlockBytes;
  add_blocks(bytes, whole);
  std::copy_n(bytes + whole * kBlockBytes, size_bytes % kBlockBytes, pending_.begin());
}

std::string Md5::finish() {
  // A one bit, zeros up to 56 modulo 64 bytes, then the message's length in bits.
  const std::uint64_t message_bits = 8 * message_bytes_;
  std::array<unsigned char, kBlockBytes + 8> tail{0x80};
  const std::size_t padding =
      1 + (2 * kBlockBytes - 9 - message_bytes_ % kBlockBytes) % kBlockBytes;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[padding + i] = static_cast<unsigned char>(message_bits >> (8 * i));
  }
  update(tail.data(), padding + 8);

  std::string digits;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint32_t byte = (state_[i / 4] >> (8 * (i % 4))) & 0xffU;
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15U];
  }
  return digits;
}

std::string md5(std::string_view text) {
  Md5 digest;
  digest.update(text.data(), text.size());
  return digest.finish();
}

}  // namespace regatta
