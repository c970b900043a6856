// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "harness/system/input_file.h"
#include "kernels/base/error.h"

namespace regatta::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "checkpoint";
constexpr char kPartial[] = "checkpoint.partial";

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw RunError(ErrorKind::Io, "cannot write a checkpoint to " + path.string() + ": " + reason +
                                    "; fix: make room there, or choose another folder with --out");
}

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

/// Writes all bytes. Returns the error's text; empty if there was none.
std::string write_all(int file, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::strerror(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return "";
}

std::string read_all(int file, std::vector<char>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "it became shorter";
    done += static_cast<std::size_t>(got);
  }
  return "";
}

}  // namespace

CheckpointFolder::CheckpointFolder(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.message());
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) fail(folder, std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  throw RunError(ErrorKind::Io,
                 "another run writes its checkpoints to " + folder.string() +
                     ": it still runs, or has been resumed already; fix: wait for its "
                     "end, or choose another folder with --out");
}

CheckpointFolder::~CheckpointFolder() { close(descriptor_); }

void CheckpointFolder::write(const Checkpoint& checkpoint) {
  const Descriptor file(
      openat(descriptor_, kPartial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.number() < 0) fail(folder_, std::strerror(errno));
  std::string trouble;
  encode(checkpoint, [&](std::span<const char> bytes) {
    if (trouble.empty()) trouble = write_all(file.number(), bytes);
  });
  if (trouble.empty() && fsync(file.number()) != 0) trouble = std::strerror(errno);
  if (trouble.empty() && renameat(descriptor_, kPartial, descriptor_, kFile) != 0) {
    trouble = std::strerror(errno);
  }
  if (trouble.empty() && fsync(descriptor_) != 0) trouble = std::strerror(errno);
  if (trouble.empty()) return;
  unlinkat(descriptor_, kPartial, 0);  // the record may need its space
  fail(folder_, trouble);
}

void CheckpointFolder::require_room() const {
  struct statvfs disk {};
  struct stat written {};
  if (fstatvfs(descriptor_, &disk) != 0 || fstatat(descriptor_, kFile, &written, 0) != 0) {
    fail(folder_, std::strerror(errno));
  }
  const auto needed = static_cast<std::uint64_t>(written.st_size);
  if (std::uint64_t{disk.f_bavail} * disk.f_frsize >= needed) return;
  fail(folder_, "there is room for one of " + std::to_string(needed) +
                    " bytes only, and the next is written before the former goes");
}

void CheckpointFolder::remove() {
  for (const char* file : {kFile, kPartial}) unlinkat(descriptor_, file, 0);
  std::error_code ignored;  // a leftover does no harm
  fs::remove(folder_, ignored);
  fs::remove(folder_.parent_path(), ignored);  // succeeds if no other run has a checkpoint
}

Checkpoint read_checkpoint(const fs::path& path) {
  const std::string flag = "--resume " + path.string() + ": ";
  const fs::path name = system::is_folder(path) ? path / kFile : path;
  const Descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file.number() < 0 || fstat(file.number(), &facts) != 0) {
    throw RunError(ErrorKind::Usage, flag + std::strerror(errno) +
                                         "; fix: give a checkpoint, or its folder: "
                                         "OUT/checkpoints/RUN_ID");
  }
  if (!S_ISREG(facts.st_mode)) throw RunError(ErrorKind::Usage, flag + "this is not a file");
  std::vector<char> bytes(static_cast<std::size_t>(facts.st_size));
  if (const std::string trouble = read_all(file.number(), bytes); !trouble.empty()) {
    throw RunError(ErrorKind::Data, flag + trouble);
  }
  return decode(std::move(bytes), path.string());
}

}  // namespace regatta::checkpoint
