// SPDX-License-Identifier: Apache-2.0
//
// A shared library that makes mpirun listen on loopback only (loopback_preload.cpp). This program
// contains the library and writes it to a file in memory (memfd), from which mpirun preloads it.
#pragma once

namespace regatta {

class LoopbackLibrary {
 public:
  /// Throws: RunError(Io).
  LoopbackLibrary();
  ~LoopbackLibrary();
  LoopbackLibrary(const LoopbackLibrary&) = delete;
  LoopbackLibrary& operator=(const LoopbackLibrary&) = delete;

  /// The descriptor of the file in memory. A child that loads the library must duplicate it.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace regatta
