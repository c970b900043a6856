// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder for one test, even if tests run in parallel; removed afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "kernels/base/error.h"

namespace regatta::testing_support {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "regatta_test_XXXXXX";
    check(mkdtemp(name.data()) != nullptr, "a folder for tests can be made");
    path_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace regatta::testing_support
