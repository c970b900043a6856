// SPDX-License-Identifier: Apache-2.0
#include "harness/system/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecordBegin = R"({"schema":)";  // starts each line of records
constexpr std::string_view kReserved = "is the name of a file of records";
constexpr int kMostLinks = 40;  // Linux's limit

RunError refusal(const OutputOptions& options, const std::string& why, const std::string& advice) {
  return {ErrorKind::Usage, options.path.string() + " " + why + "; " + advice + options.flag};
}

[[noreturn]] void fail(const OutputOptions& options, const std::string& reason) {
  throw RunError(ErrorKind::Io, "cannot write " + options.path.string() + ": " + reason +
                                    "; fix: choose another file for " + options.flag);
}

/// Whether the path is a device, or a pipe such as /dev/stdout: writing there replaces nothing.
bool is_stream(const fs::path& path) {
  std::error_code error;
  return fs::is_character_file(path, error) || fs::is_fifo(path, error);
}

/// Fails for a pipe without a reader, on which opening would block.
void require_reader(const OutputOptions& options) {
  const int descriptor = open(options.path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) fail(options, std::strerror(errno));
  close(descriptor);
}

/// Compares without case, because for some file systems RECORDS.JSONL is the same file.
bool is_name_of_records(const fs::path& name) {
  const bool is_compressed = strcasecmp(name.extension().c_str(), ".gz") == 0;
  const std::string plain = is_compressed ? name.stem() : name;
  const auto is = [&plain](const char* other) { return strcasecmp(plain.c_str(), other) == 0; };
  return is(kRealRecords) || is(kSimulatedRecords) || is(kDamagedRecords);
}

/// Whether is_name_of_records() holds for a part of the path or of its target. Follows at most
/// `links` links.
bool leads_to_records(const fs::path& path, int& links) {
  const fs::path plain = path.lexically_normal();
  if (std::any_of(plain.begin(), plain.end(), is_name_of_records)) return true;
  fs::path parent;
  for (const fs::path& part : plain) {
    std::error_code error;
    const fs::path target = fs::read_symlink(parent / part, error);
    if (!error && --links > 0 && leads_to_records(parent / target, links)) return true;
    parent /= part;
  }
  return false;
}
bool leads_to_records(const fs::path& path) {
  int links = kMostLinks;
  return leads_to_records(path, links);
}

/// Whether the file holds records, even as a copy under another name.
bool holds_records(const fs::path& path) {
  if (leads_to_records(path)) return true;
  std::array<char, kRecordBegin.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == kRecordBegin;
}

/// Creates an empty file, which must not exist.
void create(const OutputOptions& options, const fs::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(options, std::strerror(errno));
  close(descriptor);
}

}  // namespace

void require_free(const OutputOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(options.path, error);
  const std::string other = "choose another file for ";
  if (is_stream(options.path)) return;
  if (status.type() == fs::file_type::not_found) {
    if (!leads_to_records(options.path)) return;
    throw refusal(options, std::string(kReserved), other);
  }
  if (status.type() == fs::file_type::none) fail(options, error.message());
  if (status.type() == fs::file_type::directory) fail(options, "it is a directory");
  if (status.type() != fs::file_type::regular) fail(options, "it is no regular file");
  if (holds_records(options.path)) {
    throw refusal(options, "holds records, which no command replaces", other);
  }
  if (options.if_there == IfThere::Replace) return;
  throw refusal(options, "exists", "replace it with --overwrite, or " + other);
}

OutputFile::OutputFile(OutputOptions options) : options_(std::move(options)) {
  require_free(options_);
  if (is_stream(options_.path)) {
    require_reader(options_);
  } else {
    fs::path own = options_.path;
    if (options_.if_there == IfThere::Replace) {
      own.replace_filename("." + own.filename().string() + "." + std::to_string(getpid()));
    }
    create(options_, own);
    written_ = own;
  }
  stream_.open(written_.empty() ? options_.path : written_, std::ios::binary);
  if (!stream_) fail(options_, std::strerror(errno));
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (!written_.empty()) fs::remove(written_, ignored);
}

void OutputFile::commit() {
  stream_.close();
  if (!stream_) {
    fail(options_, std::string(errno == 0 ? "it takes no more" : std::strerror(errno)) +
                       ", so it would be incomplete");
  }
  if (written_.empty()) return;
  std::error_code error;
  if (written_ != options_.path) fs::rename(written_, options_.path, error);
  if (error) fail(options_, error.message());
  written_.clear();
}

void write_output(const OutputOptions& options, std::string_view text) {
  OutputFile file(options);
  file.stream() << text;
  file.commit();
}

void create_folder(const fs::path& folder) {
  if (leads_to_records(folder)) {
    throw RunError(ErrorKind::Usage, folder.string() + " " + std::string(kReserved) +
                                         "; choose another folder with --out");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  throw RunError(ErrorKind::Io, "cannot create the folder " + folder.string() + ": " +
                                    error.message() + "; fix: choose another one with --out");
}

}  // namespace regatta::system
