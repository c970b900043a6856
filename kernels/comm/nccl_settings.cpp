// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr const char* kVariable = "NCCL_ALGO";
constexpr const char* kRingValue = "Ring";

/// NCCL does not tell `ring` from `Ring`.
bool is_ring(std::string_view value) {
  return std::equal(value.begin(), value.end(), kRing.begin(), kRing.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

}  // namespace

bool is_nccl_algorithm(std::string_view algorithm) {
  return algorithm == kNccl || algorithm == kRing;
}

PinnedNcclAlgorithm::PinnedNcclAlgorithm(std::string_view algorithm) {
  check(is_nccl_algorithm(algorithm), "an algorithm of NCCL");
  if (algorithm != kRing) return;
  const char* value = std::getenv(kVariable);
  if (value != nullptr && !is_ring(value)) {
    throw RunError(ErrorKind::Usage,
                   std::string("--all-reduce ring, but ") + kVariable + " is '" + value +
                       "' in the environment: unset it, or use --all-reduce nccl");
  }
  is_ours_ = value == nullptr;
  if (is_ours_) setenv(kVariable, kRingValue, 1);
}

PinnedNcclAlgorithm::~PinnedNcclAlgorithm() {
  if (is_ours_) unsetenv(kVariable);
}

std::vector<std::string> nccl_settings() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("NCCL_")) all.emplace_back(text);
  }
  std::sort(all.begin(), all.end());
  constexpr const char* kFile = "/etc/nccl.conf";
  if (std::filesystem::exists(kFile)) all.emplace_back(kFile);
  return all;
}

}  // namespace regatta
