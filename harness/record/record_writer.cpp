// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/system/output_file.h"

namespace regatta::record {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& reason) {
  throw RunError(ErrorKind::Io, "cannot append to " + path.string() + ": " + reason +
                                    "; records already in it are whole; fix: put this right, or "
                                    "choose another folder with --out");
}

[[noreturn]] void fail_to_write(const fs::path& path) { fail_to_write(path, std::strerror(errno)); }

/// An open file, locked against other writers until it is closed.
class LockedFile {
 public:
  explicit LockedFile(fs::path path) : path_(std::move(path)) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail_to_write(path_);
    if (struct stat facts{}; fstat(descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      close(descriptor_);
      fail_to_write(path_, "it is no regular file");
    }
    int locked;
    do {
      locked = flock(descriptor_, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked == 0) return;
    const std::string reason = std::strerror(errno);
    close(descriptor_);
    fail_to_write(path_, "no lock: " + reason);
  }
  ~LockedFile() { close(descriptor_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  off_t size() const {
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0) fail_to_write(path_);
    return facts.st_size;
  }

  /// Reads the text after the last newline.
  std::string partial_line() const {
    std::string tail;
    for (off_t end = size(); end > 0;) {
      char block[4096];
      const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(sizeof block));
      const ssize_t got = pread(descriptor_, block, static_cast<std::size_t>(end - begin), begin);
      if (got != end - begin)
        fail_to_write(path_, got < 0 ? std::strerror(errno) : "it became shorter");
      const std::string_view text(block, static_cast<std::size_t>(got));
      const std::size_t newline = text.rfind('\n');
      tail.insert(0, text.substr(newline == text.npos ? 0 : newline + 1));
      if (newline != text.npos) break;
      end = begin;
    }
    return tail;
  }

  /// Writes all of `text` to the disk, or restores the file and throws.
  void append(const std::string& text) {
    const off_t before = size();
    ssize_t written;
    do {
      written = write(descriptor_, text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0) fail_to_write(path_);
    std::string reason;
    if (static_cast<std::size_t>(written) < text.size()) {
      reason = "it took " + std::to_string(written) + " of " + std::to_string(text.size()) +
               " bytes, the disk is probably full";
    } else if (fsync(descriptor_) != 0) {
      reason = std::strerror(errno);
    }
    if (reason.empty()) return;
    if (ftruncate(descriptor_, before) != 0) {
      reason += std::string(", and the part cannot be cut off: ") + std::strerror(errno);
    }
    fail_to_write(path_, reason);
  }

  void cut_to(off_t size) {
    if (ftruncate(descriptor_, size) != 0) fail_to_write(path_);
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

fs::path records_path(const fs::path& folder, Kept kept) {
  system::create_folder(folder);
  return folder / file_of(kept);
}

}  // namespace

void append_record(const fs::path& folder, const Record& record) {
  std::string line = to_json_line(record);
  LockedFile file(records_path(folder, record.simulated ? Kept::Simulated : Kept::Real));
  const std::string partial = file.partial_line();
  if (nlohmann::json::accept(partial)) {
    line.insert(0, "\n");
  } else if (!partial.empty()) {
    LockedFile(folder / system::kDamagedRecords).append(partial + "\n");
    file.cut_to(file.size() - static_cast<off_t>(partial.size()));
  }
  file.append(line);
}

void require_writable(const fs::path& folder, Kept kept) {
  LockedFile file(records_path(folder, kept));
}

}  // namespace regatta::record
