// SPDX-License-Identifier: Apache-2.0
//
// Locks a folder of records, so that only one matrix at a time runs in it. The lock is released
// when the process ends, even if it is killed.
#pragma once

#include <string>

namespace regatta::system {

class FolderLock {
 public:
  /// Locks the folder. Throws: RunError(Usage) if another process holds the lock, RunError(Io).
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  /// True if the path still refers to the locked folder; false if the folder was removed or
  /// replaced.
  bool is_in_place() const;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace regatta::system
