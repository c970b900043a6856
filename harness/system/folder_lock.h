// SPDX-License-Identifier: Apache-2.0
//
// Locks a folder of records against other matrices, including ones started by mistake. The lock
// ends with the process, however the process ends.
#pragma once

#include <string>

namespace regatta {

class FolderLock {
 public:
  /// Throws: RunError(Usage) if another process holds the lock, RunError(Io).
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  /// Whether the folder of this name is still the locked one.
  bool is_in_place() const;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace regatta
