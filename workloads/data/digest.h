// SPDX-License-Identifier: Apache-2.0
//
// The MD5 digest of a file, by OpenSSL, to tell whether it holds the bytes its authors published.
// It protects against accidents; an adversary can forge it.
#pragma once

#include <filesystem>
#include <string>

namespace regatta {

/// 32 lower-case hexadecimal digits; empty where the file cannot be read to its end.
std::string md5_of(const std::filesystem::path& file);

}  // namespace regatta
