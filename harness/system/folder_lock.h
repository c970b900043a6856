// SPDX-License-Identifier: Apache-2.0
//
// Locks a folder of records against other matrices, including ones started by mistake. The lock
// ends with the process, however that ends.
#pragma once

#include <string>

namespace regatta {

class FolderLock {
 public:
  /// Throws: RunError(Usage) if another process holds the lock, RunError(Io).
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace regatta
