// SPDX-License-Identifier: Apache-2.0
//
// A library that is loaded at run time, so that one binary also runs where it is missing and can
// report this. It stays loaded, because GPU libraries leave threads and handlers behind.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "kernels/graph/error.h"

namespace regatta {

class SharedLibrary {
 public:
  struct Name {
    std::string soname;   ///< including the major version that our calls need
    std::string package;  ///< package to install, for messages
  };

  /// Throws: RunError(Unsupported) that names the package and the places searched.
  explicit SharedLibrary(Name name);

  /// The path of the loaded library.
  const std::string& path() const { return path_; }

  /// Fills one entry of a table of functions.
  /// Throws: RunError(Unsupported) if the installed version lacks the function.
  template <typename Function>
  void find(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(address(symbol));
  }

  /// Throws: RunError(Unsupported) that names both versions where `found` is below `needed`.
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

/// `9.14.0` for 91400: major * 10000 + minor * 100 + patch.
std::string version_text(std::size_t number);

/// The message of the error that `load` throws, in one line; empty if it succeeds.
template <typename Load>
std::string why_not(const Load& load) {
  try {
    load();
    return {};
  } catch (const RunError& error) {
    return error.what();
  }
}

/// Throws: RunError(Device) with the call's name, the library's message and the caller's line.
[[noreturn]] void call_failed(std::string_view call, const std::string& words,
                              const std::source_location& where);

}  // namespace regatta
