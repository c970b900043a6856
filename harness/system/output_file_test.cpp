// SPDX-License-Identifier: Apache-2.0
#include "harness/system/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>

#include "harness/record/record_writer.h"
#include "harness/record/sample_record.h"
#include "harness/system/folder_for_test.h"
#include "kernels/base/error.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFileTest : public testing::Test {
 protected:
  std::string text_of(const fs::path& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  testing_support::ScratchFolder folder_;
  fs::path path_ = folder_.path() / "file.csv";
};

TEST_F(OutputFileTest, IsNewAndCompleteOrNotThere) {
  {
    OutputFile file({.path = path_});
    file.stream() << "lost";
  }
  EXPECT_EQ(files(), 0);
  write_output({.path = path_}, "kept");
  EXPECT_EQ(text_of(path_), "kept");
}

TEST_F(OutputFileTest, ReplacesAFileOnlyWhereThatWasAskedFor) {
  write_output({.path = path_}, "first");
  EXPECT_THAT([&] { write_output({.path = path_, .flag = "--trace"}, "second"); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("file.csv exists; replace it with --overwr"),
                                            HasSubstr("another file for --trace"))));
  EXPECT_EQ(text_of(path_), "first");
  {
    OutputFile broken_off({.path = path_, .if_there = IfThere::Replace});
    broken_off.stream() << "lost";
  }
  EXPECT_EQ(text_of(path_), "first");
  write_output({.path = path_, .if_there = IfThere::Replace}, "second");
  EXPECT_EQ(text_of(path_), "second");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, NeverTakesThePlaceOfRecords) {
  record::append_record(folder_.path(), record::sample_record());
  const fs::path records = folder_.path() / "records.jsonl", copy = folder_.path() / "old.txt";
  fs::copy_file(records, copy);
  fs::create_symlink(records, folder_.path() / "link");
  const std::string before = text_of(records);
  for (const fs::path& path : {records, copy, folder_.path() / "link"}) {
    EXPECT_THAT([&] { write_output({.path = path, .if_there = IfThere::Replace}, "csv"); },
                ThrowsMessage<RunError>(HasSubstr("holds records, which no command replaces")));
  }
  EXPECT_EQ(text_of(records), before);
  EXPECT_EQ(text_of(copy), before);
}

TEST_F(OutputFileTest, NeverHasTheNameOfRecords) {
  const fs::path folder = folder_.path();
  fs::create_symlink("new/records.jsonl", folder / "dangling");
  fs::create_symlink("dangling", folder / "twice");
  const char* const names[] = {"records.jsonl",
                               "simulated.jsonl",
                               "new/records.damaged",
                               "Records.JSONL",
                               "a/../records.jsonl",
                               ".//records.jsonl/.",
                               "records.jsonl/",
                               "records.jsonl/a",
                               "dangling",
                               "twice",
                               "twice/",
                               "twice/index.html"};
  for (const char* name : names) {
    for (const IfThere if_there : {IfThere::Refuse, IfThere::Replace}) {
      EXPECT_THAT(([&] { OutputFile file({.path = folder / name, .if_there = if_there}); }),
                  ThrowsMessage<RunError>(HasSubstr("is the name of a file of records")))
          << name;
    }
    EXPECT_THAT([&] { create_folder(folder / name); },
                ThrowsMessage<RunError>(HasSubstr("is the name of a file of records")))
        << name;
  }
  EXPECT_EQ(files(), 2);
  for (const char* name : {"records.jsonl.txt", "my_records.jsonl", "records"}) {
    require_free({.path = folder / name});
  }
}

TEST_F(OutputFileTest, SparesRecordsThatAreEmptyOrDamaged) {
  fs::create_symlink("records.damaged", folder_.path() / "link");
  std::ofstream(folder_.path() / "records.damaged") << "{\"sch";
  std::ofstream(folder_.path() / "simulated.jsonl").close();
  for (const char* name : {"link", "records.damaged", "simulated.jsonl"}) {
    EXPECT_THAT(
        ([&] { write_output({.path = folder_.path() / name, .if_there = IfThere::Replace}, ""); }),
        ThrowsMessage<RunError>(HasSubstr("holds records, which no command replaces")));
  }
  EXPECT_EQ(text_of(folder_.path() / "link"), "{\"sch");
}

TEST_F(OutputFileTest, SaysWhatKeepsItFromBeingWritten) {
  EXPECT_THAT([&] { OutputFile file({.path = folder_.path()}); },
              ThrowsMessage<RunError>(HasSubstr("it is a directory; fix: choose another file")));
  EXPECT_THAT([&] { OutputFile file({.path = folder_.path() / "none" / "a"}); },
              ThrowsMessage<RunError>(HasSubstr("No such file or directory; fix: choose another")));
  EXPECT_THAT([] { write_output({.path = "/dev/full"}, "text"); },
              ThrowsMessage<RunError>(HasSubstr("/dev/full: No space left on device")));
}

TEST_F(OutputFileTest, CreatesFoldersOrSaysWhyNot) {
  create_folder(folder_.path() / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder_.path() / "a" / "b"));
  const fs::path loop = folder_.path() / "loop";
  fs::create_symlink(loop, loop);
  for (const fs::path& path :
       {loop, fs::path(std::string(100'000, 'x')), fs::path("/dev/null/a")}) {
    EXPECT_THAT([&] { create_folder(path); },
                ThrowsMessage<RunError>(HasSubstr("choose another one with --out")));
  }
}

}  // namespace
}  // namespace regatta::system
