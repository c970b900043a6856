// SPDX-License-Identifier: Apache-2.0
#include "harness/system/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class InputFileTest : public testing::Test {
 protected:
  void expect_refused(const fs::path& path, const std::string& reason) const {
    EXPECT_THAT([&] { text_of(path, 10); }, ThrowsMessage<RunError>(HasSubstr(reason))) << path;
  }
  testing_support::ScratchFolder folder_;
};

TEST_F(InputFileTest, IsReadUpToItsLimit) {
  std::ofstream(folder_.path() / "file") << "0123456789";
  EXPECT_EQ(text_of(folder_.path() / "file", 10), "0123456789");
  EXPECT_THAT([&] { text_of(folder_.path() / "file", 9); },
              ThrowsMessage<RunError>(HasSubstr("it has 10 bytes, more than the 9 that are read")));
}

TEST_F(InputFileTest, IsRefusedAtOnceWhateverStandsThere) {
  const fs::path fifo = folder_.path() / "fifo", loop = folder_.path() / "loop";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink(loop, loop);
  expect_refused(fifo, "it is no regular file");
  expect_refused("/dev/zero", "it is no regular file");
  expect_refused(loop, "Too many levels of symbolic links");
  expect_refused(folder_.path(), "it is a folder");
  expect_refused(folder_.path() / "none", "No such file or directory");
  expect_refused(fs::path(std::string(100'000, 'x')), "File name too long");
  expect_refused("/dev/null/below", "Not a directory");
}

TEST_F(InputFileTest, IsNotCutAtAZeroByte) {
  std::ofstream(folder_.path() / "file") << "text";
  const std::string name = (folder_.path() / "file").string() + std::string("\0x", 2);
  EXPECT_THAT([&] { text_of(name, 100); },
              ThrowsMessage<RunError>(HasSubstr("/file\\x00x: a zero byte is in its name")));
}

TEST_F(InputFileTest, AsksForAnythingWithoutAnError) {
  const fs::path loop = folder_.path() / "loop", endless(std::string(100'000, 'x'));
  fs::create_symlink(loop, loop);
  for (const fs::path& path : {loop, endless, fs::path("/dev/null/below")}) {
    EXPECT_FALSE(is_there(path));
    EXPECT_FALSE(is_folder(path));
  }
  EXPECT_TRUE(is_folder(folder_.path()));
}

}  // namespace
}  // namespace regatta::system
