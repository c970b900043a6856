// SPDX-License-Identifier: Apache-2.0
//
// MD5 digests, computed by OpenSSL, to check whether data sets have the bytes that their authors
// published. They detect accidental changes; an adversary can forge them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace regatta::workloads {

/// The MD5 of all bytes that are added, in order.
class Digest {
 public:
  Digest();
  void add(std::string_view bytes);
  void add(std::span<const std::byte> bytes) {
    add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  /// Returns the digest as 32 lower-case hexadecimal digits. Call it once, after the last add().
  std::string digits();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> state_;
};

/// Returns the MD5 of a whole file; empty if it cannot be read to its end.
std::string md5_of(const std::filesystem::path& file);

}  // namespace regatta::workloads
