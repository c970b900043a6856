// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "kernels/base/error.h"

namespace regatta::workloads {

Digest::Digest() : Digest(EVP_md5()) {}
Digest Digest::sha256() { return Digest(EVP_sha256()); }

Digest::Digest(const evp_md_st* kind) : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  check(state_ && EVP_DigestInit_ex(state_.get(), kind, nullptr) == 1, "OpenSSL has the digest");
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size());
}

std::string Digest::digits() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> values{};
  unsigned count = 0;
  EVP_DigestFinal_ex(state_.get(), values.data(), &count);
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", values[i]);
    text += digits.data();
  }
  return text;
}

std::string md5_of(const std::filesystem::path& file) {
  Digest digest;
  std::ifstream bytes(file, std::ios::binary);
  std::string piece(std::size_t{1} << 20, '\0');
  while (bytes.read(piece.data(), static_cast<std::streamsize>(piece.size())), bytes.gcount() > 0) {
    digest.add({piece.data(), static_cast<std::size_t>(bytes.gcount())});
  }
  return bytes.eof() ? digest.digits() : "";
}

}  // namespace regatta::workloads
