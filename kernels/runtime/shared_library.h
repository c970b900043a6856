// SPDX-License-Identifier: Apache-2.0
//
// A library that is loaded at run time, so that one binary also runs on machines without the
// library and can report that. It is never unloaded, because GPU libraries leave threads and
// handlers behind.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace regatta {

class SharedLibrary {
 public:
  struct Name {
    std::string soname;   ///< with the major version that our calls need: `libcudnn.so.9`
    std::string package;  ///< the package to install, for error messages
  };

  /// Loads the library. Throws: RunError(Unsupported) that names the package and the places
  /// searched if it is not found.
  explicit SharedLibrary(Name name);

  /// Returns the path of the loaded library.
  const std::string& path() const { return path_; }

  /// Sets `function`, one entry of a table of functions, to the address of `symbol`.
  /// Throws: RunError(Unsupported) if the installed version lacks the function.
  template <typename Function>
  void find(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(address(symbol));
  }

  /// Checks the library's version. Throws: RunError(Unsupported) that names both versions if
  /// `found` is below `needed`.
  void require(std::int64_t found, std::int64_t needed, const std::string& needed_text) const;

 private:
  void* address(const char* symbol) const;

  Name name_;
  void* handle_ = nullptr;
  std::string path_;
};

// NVIDIA's libraries; kernels/cuda and kernels/comm load them.
inline const SharedLibrary::Name kCublasLt{.soname = "libcublasLt.so.13",
                                           .package = "libcublas-13-0"};
inline const SharedLibrary::Name kCudnn{.soname = "libcudnn.so.9", .package = "libcudnn9-cuda-13"};
inline const SharedLibrary::Name kNcclLibrary{.soname = "libnccl.so.2", .package = "libnccl2"};

/// Formats a version number, major * 10000 + minor * 100 + patch, as text: 91400 as `9.14.0`.
std::string version_text(std::size_t number);

/// Calls `load` and returns the message of the RunError that it throws; empty if it succeeds.
template <typename Load>
std::string why_not(const Load& load) {
  try {
    load();
    return {};
  } catch (const RunError& error) {
    return error.what();
  }
}

/// Reports a failed call of a library. `words` is the library's message.
/// Throws: RunError(Device) with the call's name, the library's message and the caller's line.
[[noreturn]] void call_failed(std::string_view call, const std::string& words,
                              const std::source_location& where);

}  // namespace regatta
