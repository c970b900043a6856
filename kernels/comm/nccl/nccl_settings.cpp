// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

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

std::map<std::string, std::string> nccl_variables() {
  std::map<std::string, std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == text.npos) continue;
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

}  // namespace regatta
