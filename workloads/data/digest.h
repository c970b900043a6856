// SPDX-License-Identifier: Apache-2.0
//
// Computes digests with OpenSSL. MD5 shows whether data sets have the bytes that their authors
// published: it detects accidental changes, but an adversary can forge it. SHA-256 shows whether
// other programs begin with the same values.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX
struct evp_md_st;      // OpenSSL's EVP_MD

namespace regatta::workloads {

/// The MD5, or the SHA-256, of all bytes that are added, in order.
class Digest {
 public:
  Digest();
  static Digest sha256();
  void add(std::string_view bytes);
  void add(std::span<const std::byte> bytes) {
    add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  /// Returns the digest as lower-case hexadecimal digits. Call it once, after the last add().
  std::string digits();

 private:
  explicit Digest(const evp_md_st* kind);

  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> state_;
};

/// Returns the MD5 of a whole file; empty if it cannot be read to its end.
std::string md5_of(const std::filesystem::path& file);

}  // namespace regatta::workloads
