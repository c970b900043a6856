// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace regatta {

void check(bool condition, std::string_view rule, std::source_location where) {
  if (condition) return;
  std::fprintf(stderr, "regatta: bug at %s:%u: %.*s\n", where.file_name(), where.line(),
               static_cast<int>(rule.size()), rule.data());
  std::abort();
}

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage: return "usage";
    case ErrorKind::Data: return "data";
    case ErrorKind::Diverged: return "diverged";
    case ErrorKind::PeerLost: return "peer_lost";
    case ErrorKind::Timeout: return "timeout";
    case ErrorKind::Unsupported: return "unsupported";
    case ErrorKind::Io: return "io";
    case ErrorKind::Device: return "device";
    case ErrorKind::Cancelled: return "cancelled";
    case ErrorKind::Program: return "program";
  }
  return "unknown";
}

}  // namespace regatta
