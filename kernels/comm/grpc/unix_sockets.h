// SPDX-License-Identifier: Apache-2.0
//
// Addresses of gRPC servers at Unix domain sockets, `unix:FOLDER/NAME`, and the folder that holds
// the sockets of a run on one host. Only the user who has started the run can enter the folder.
// Threads: functions may be called from any thread, a SocketFolder from one.
#pragma once

#include <string>
#include <string_view>

namespace regatta::comm {

inline constexpr std::string_view kUnixScheme = "unix:";

/// True for `unix:PATH`, false for a TCP address.
inline bool is_unix(std::string_view address) { return address.starts_with(kUnixScheme); }

/// The folder of the socket at `address`: `unix:FOLDER` for `unix:FOLDER/NAME`.
inline std::string folder_of_socket(const std::string& address) {
  return address.substr(0, address.rfind('/'));
}

/// A new folder with mode 0700. Its path leaves room for a name, because the path of a socket has
/// at most 107 bytes.
class SocketFolder {
 public:
  /// Makes the folder in the folder for temporary files or, if that fails or its path is too long
  /// or has characters that need an escape, in /tmp.
  /// Throws: RunError(Io).
  SocketFolder();
  /// Removes the folder with all sockets. Open connections stay.
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  const std::string& path() const { return path_; }
  /// The folder as the option `listen` of a server: `unix:FOLDER`.
  std::string listen() const { return std::string(kUnixScheme) + path_; }

 private:
  std::string path_;
};

}  // namespace regatta::comm
