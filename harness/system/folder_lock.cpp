// SPDX-License-Identifier: Apache-2.0
#include "harness/system/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernels/base/error.h"

namespace regatta::system {

FolderLock::FolderLock(const std::string& folder) : path_(folder + "/matrix.lock") {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw RunError(ErrorKind::Io, "cannot open " + path_ + ": " + std::strerror(errno));
  }
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor_);
    throw RunError(ErrorKind::Usage, "another matrix is at work in " + folder +
                                         "; fix: wait for it, or choose another folder with --out");
  }
}

FolderLock::~FolderLock() { close(descriptor_); }

bool FolderLock::is_in_place() const {
  struct stat locked {
  }, found{};
  return fstat(descriptor_, &locked) == 0 && stat(path_.c_str(), &found) == 0 &&
         locked.st_dev == found.st_dev && locked.st_ino == found.st_ino;
}

}  // namespace regatta::system
