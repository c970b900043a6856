// SPDX-License-Identifier: Apache-2.0
#include "harness/system/input_file.h"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw RunError(ErrorKind::Data, "cannot read " + one_line(path.native()) + ": " + reason);
}

}  // namespace

std::ifstream open_input(const fs::path& path, std::uintmax_t most_bytes) {
  if (path.native().find('\0') != std::string::npos) {  // the system would cut the name there
    fail(path, "a zero byte is in its name");
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::directory) fail(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) fail(path, "it is no regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) fail(path, error.message());
  if (size > most_bytes) {
    fail(path, "it has " + std::to_string(size) + " bytes, more than the " +
                   std::to_string(most_bytes) + " that are read");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, std::strerror(errno));
  return file;
}

std::string text_of(const fs::path& path, std::uintmax_t most_bytes) {
  std::ifstream file = open_input(path, most_bytes);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace regatta::system
