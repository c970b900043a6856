// SPDX-License-Identifier: Apache-2.0
//
// The library by which mpirun listens on loopback only (loopback_preload.cpp). It is part of this
// program, and a process loads it from a file in memory.
#pragma once

namespace regatta {

class LoopbackLibrary {
 public:
  /// Throws: RunError(Io).
  LoopbackLibrary();
  ~LoopbackLibrary();
  LoopbackLibrary(const LoopbackLibrary&) = delete;
  LoopbackLibrary& operator=(const LoopbackLibrary&) = delete;

  /// The file's descriptor, for a child that duplicates it.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace regatta
