// SPDX-License-Identifier: Apache-2.0
//
// Holds a folder of records against other matrices, also those that were started by mistake. The
// lock goes with the process, however it ends.
#pragma once

#include <string>

namespace regatta {

class FolderLock {
 public:
  /// Throws: RunError(Usage) where another holds it, RunError(Io).
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace regatta
