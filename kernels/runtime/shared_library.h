// SPDX-License-Identifier: Apache-2.0
//
// A library that is looked for while the program runs, so that one binary also runs where it is not
// installed and says what is missing. It stays loaded: GPU libraries leave threads and handlers of
// their own behind.
#pragma once

#include <cstdint>
#include <string>

namespace regatta {

class SharedLibrary {
 public:
  struct Name {
    std::string soname;   ///< with the major version that our calls are written for
    std::string package;  ///< what to install, for messages
  };

  /// Throws: RunError(Unsupported) that names the package and where it was looked for.
  explicit SharedLibrary(Name name);

  /// Where the library was found.
  const std::string& path() const { return path_; }

  /// Fills one entry of a table of functions.
  /// Throws: RunError(Unsupported) where the installed version has no such function.
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

}  // namespace regatta
