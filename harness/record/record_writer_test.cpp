// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record_writer.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/record/record_reader.h"
#include "harness/record/sample_record.h"
#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::record {
namespace {

namespace fs = std::filesystem;

/// A folder for one test, removed afterwards.
class RecordWriter : public testing::Test {
 protected:
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string error_of(const fs::path& folder) {
    return regatta::testing_support::error_of([&] { append_record(folder, sample_record()); },
                                              ErrorKind::Io);
  }

  const testing_support::ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
  const std::string line_ = to_json_line(sample_record());
};

TEST_F(RecordWriter, KeepsRunsInVirtualTimeApart) {
  append_record(folder_, sample_simulated_record());
  EXPECT_EQ(text_of(folder_ / "simulated.jsonl"), to_json_line(sample_simulated_record()));
  EXPECT_FALSE(fs::exists(folder_ / "records.jsonl"));
}

TEST_F(RecordWriter, CreatesTheFolderAndAppends) {
  const fs::path folder = folder_ / "new" / "folder";
  append_record(folder, sample_record());
  append_record(folder, sample_failed_record());
  EXPECT_EQ(text_of(folder / "records.jsonl"), line_ + to_json_line(sample_failed_record()));
}

TEST_F(RecordWriter, LetsANewRecordBeReadAloneBehindALineThatWasCut) {
  append_record(folder_, sample_record());
  NewRecords unread(folder_);
  write(folder_ / "records.jsonl", line_ + line_.substr(0, 50));
  EXPECT_TRUE(unread.read().empty());
  append_record(folder_, sample_failed_record());
  const std::vector<Record> records = unread.read();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().run_id, sample_failed_record().run_id);
  EXPECT_TRUE(unread.read().empty());
}

TEST_F(RecordWriter, MovesAPartialLineAside) {
  const std::string partial(10'000, '{');  // longer than a block of the search for its start
  write(folder_ / "records.jsonl", line_ + partial);
  append_record(folder_, sample_record());
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), line_ + line_);
  EXPECT_EQ(text_of(folder_ / "records.damaged"), partial + "\n");
}

TEST_F(RecordWriter, MovesAPartialFirstLineAside) {
  write(folder_ / "records.jsonl", line_.substr(0, 100));
  append_record(folder_, sample_record());
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), line_);
}

TEST_F(RecordWriter, CompletesAWholeRecordWithoutNewline) {
  write(folder_ / "records.jsonl", line_.substr(0, line_.size() - 1));
  append_record(folder_, sample_record());
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), line_ + line_);
  EXPECT_FALSE(fs::exists(folder_ / "records.damaged"));
}

TEST_F(RecordWriter, KeepsLinesOfManyThreadsWhole) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 25;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < kRecords; ++n) append_record(folder_, sample_record());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int n = 0; n < kThreads * kRecords; ++n) expected += line_;
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), expected);
}

TEST_F(RecordWriter, NamesAFolderThatCannotBeCreated) {
  write(folder_ / "file", "");
  EXPECT_EQ(error_of(folder_ / "file" / "out"),
            "cannot create the folder " + (folder_ / "file" / "out").string() +
                ": Not a directory; fix: choose another one with --out");
}

TEST_F(RecordWriter, RefusesAnUnwritableFolder) {
  const fs::path folder = "/proc/self";  // even root creates no file here
  EXPECT_EQ(error_of(folder).find("cannot append to /proc/self/records.jsonl: "), 0U);
  EXPECT_THROW(require_writable(folder), RunError);
}

TEST_F(RecordWriter, FindsAWritableFolderSo) {
  require_writable(folder_ / "out");
  EXPECT_TRUE(fs::is_empty(folder_ / "out" / "records.jsonl"));
}

TEST_F(RecordWriter, KeepsRecordsInRegularFilesOnly) {
  fs::create_symlink("/dev/null", folder_ / "records.jsonl");
  EXPECT_NE(error_of(folder_).find("it is no regular file"), std::string::npos);
}

/// A file system of 64 KiB, with `free` bytes left beside a file of whole records.
class FullDisk : public RecordWriter {
 protected:
  void SetUp() override {
    RecordWriter::SetUp();
    if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k") != 0) {
      GTEST_SKIP() << "mounting a small file system takes root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(umount(folder_.c_str()), 0);
    }
    RecordWriter::TearDown();
  }

  bool mounted_ = false;
};

TEST_F(FullDisk, KeepsEveryRecordWhole) {
  std::size_t whole = 0;
  std::string error;
  while (whole < 1'000 && (error = error_of(folder_)).empty()) ++whole;
  EXPECT_GT(whole, 10U);
  EXPECT_NE(error.find("the disk is probably full"), std::string::npos) << error;
  const std::string text = text_of(folder_ / "records.jsonl");
  EXPECT_EQ(text.size(), whole * line_.size());
  EXPECT_EQ(text.substr(text.size() - line_.size()), line_);
}

TEST_F(FullDisk, LeavesAPartialLineWhenItCannotBeMovedAside) {
  const std::string partial = line_.substr(0, 100);
  write(folder_ / "records.jsonl", line_ + partial);
  const auto free = fs::space(folder_).available;
  write(folder_ / "filler", std::string(free, 'x'));
  EXPECT_NE(error_of(folder_).find("records.damaged"), std::string::npos);
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), line_ + partial);
  fs::remove(folder_ / "filler");
  append_record(folder_, sample_record());
  EXPECT_EQ(text_of(folder_ / "records.jsonl"), line_ + line_);
}

}  // namespace
}  // namespace regatta::record
