// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"

namespace regatta::comm {
namespace {

constexpr const char* kVariable = "NCCL_ALGO";
constexpr const char* kMultiRank = "NCCL_MULTI_RANK_GPU_ENABLE";
constexpr const char* kRingValue = "Ring";
constexpr const char* kInterface = "NCCL_SOCKET_IFNAME";

/// The number of permissions that are alive, and the variable while it is set.
struct Permission {
  std::mutex mutex;
  int holders = 0;
  std::optional<PinnedVariable> pinned;
};

Permission& permission_of_process() {
  static Permission permission;
  return permission;
}

/// Compares without case, as NCCL does: `Ring` is `ring`.
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
  pinned_.emplace(kVariable, kRingValue);
}

PinnedNcclInterface::PinnedNcclInterface(const std::string& name) {
  // NCCL takes a name after `=` as a whole name, otherwise as the beginning of names.
  if (!name.empty()) pinned_.emplace(kInterface, ("=" + name).c_str());
}

SharedGpuPermission::SharedGpuPermission() {
  Permission& permission = permission_of_process();
  const std::scoped_lock lock(permission.mutex);
  if (permission.holders++ == 0) permission.pinned.emplace(kMultiRank, "1");
}

SharedGpuPermission::~SharedGpuPermission() {
  Permission& permission = permission_of_process();
  const std::scoped_lock lock(permission.mutex);
  if (--permission.holders == 0) permission.pinned.reset();
}

void SharedGpuPermission::require() const {
  const std::string_view value = std::getenv(kMultiRank);
  if (value == "1") return;
  throw RunError(ErrorKind::Usage,
                 std::string("members of an all_reduce by NCCL share a GPU, but ") + kMultiRank +
                     " is '" + std::string(value) +
                     "' in the environment: unset it, or use --all-reduce reduce_to_one");
}

PinnedVariable::PinnedVariable(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return;
  name_ = name;
  setenv(name, value, 1);
}

PinnedVariable::~PinnedVariable() {
  if (name_ != nullptr) unsetenv(name_);
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

}  // namespace regatta::comm
