// SPDX-License-Identifier: Apache-2.0
//
// The MD5 digest, to tell whether a file holds the bytes its authors published. It protects against
// accidents, not against an adversary.
// Source: Rivest, RFC 1321, "The MD5 Message-Digest Algorithm", 1992.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regatta {

/// A digest of bytes that come piece by piece.
class Md5 {
 public:
  void update(const void* data, std::size_t size_bytes);
  /// 32 lower-case hexadecimal digits. Ends the message: call it once, last.
  std::string finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void add_blocks(const unsigned char* block, std::size_t block_count);

  std::array<std::uint32_t, 4> state_{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U};
  std::array<unsigned char, kBlockBytes> pending_{};  ///< bytes of a block not yet whole
  std::uint64_t message_bytes_ = 0;
};

/// The digest of `text`.
std::string md5(std::string_view text);

}  // namespace regatta
