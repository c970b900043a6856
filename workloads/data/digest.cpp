// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "kernels/graph/error.h"

namespace regatta {

std::string md5_of(const std::filesystem::path& file) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
  check(digest && EVP_DigestInit_ex(digest.get(), EVP_md5(), nullptr) == 1, "OpenSSL has MD5");
  std::ifstream bytes(file, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  while (bytes.read(piece.data(), static_cast<std::streamsize>(piece.size())), bytes.gcount() > 0) {
    EVP_DigestUpdate(digest.get(), piece.data(), static_cast<std::size_t>(bytes.gcount()));
  }
  if (!bytes.eof()) return "";
  std::array<unsigned char, EVP_MAX_MD_SIZE> values{};
  unsigned count = 0;
  EVP_DigestFinal_ex(digest.get(), values.data(), &count);
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", values[i]);
    text += digits.data();
  }
  return text;
}

}  // namespace regatta
