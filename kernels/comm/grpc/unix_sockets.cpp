// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/unix_sockets.h"

#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderName[] = "regatta-XXXXXX";
constexpr std::size_t kMostName = 20;  // bytes of a socket's name, including the slash
constexpr std::size_t kMostParent =
    sizeof(sockaddr_un::sun_path) - 1 - sizeof kFolderName - kMostName;

/// True for a path that is short enough, and which gRPC takes as it is in an address.
bool suits_sockets(const std::string& parent) {
  return parent.starts_with('/') && parent.size() <= kMostParent &&
         std::all_of(parent.begin(), parent.end(), [](unsigned char letter) {
           return std::isalnum(letter) != 0 || std::strchr("/._-", letter) != nullptr;
         });
}

}  // namespace

SocketFolder::SocketFolder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  for (const fs::path& parent : {temporary, fs::path("/tmp")}) {
    if (!suits_sockets(parent.string())) continue;
    path_ = (parent / kFolderName).string();
    if (mkdtemp(path_.data()) != nullptr) return;
  }
  throw RunError(
      ErrorKind::Io,
      std::string("cannot make a folder for the run's sockets in /tmp: ") + std::strerror(errno));
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace regatta::comm
