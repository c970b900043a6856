// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint file: all of its contents come back, only a whole file is read, and one exists at
// all times while another is written.
#include "harness/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "harness/checkpoint/checkpoint_folder.h"
#include "harness/run/merge_reports.h"
#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::checkpoint {
namespace {

using regatta::testing_support::error_of;

namespace fs = std::filesystem;

constexpr std::string_view kWeights = "twelve bytes";
constexpr std::string_view kOthers = "other twelve";

run::TrainingReport sample_report() {
  run::TrainingReport report;
  report.workers = {{.rank = 1,
                     .report = {.place = {.replica = 1, .stage = 2, .role = Role::Worker},
                                .steps = 3,
                                .compute_ns = 10,
                                .exposed_communication_ns = 20,
                                .wait_ns = 30,
                                .input_ns = 40,
                                .update_ns = 50,
                                .total_ns = 150,
                                .staleness = {2, 0, 1},
                                .age = {},
                                .updates_applied = 6,
                                .updates_dropped = 4,
                                .data_order = 0xC000'0000'0000'0001}}};
  report.loops = {{.number = 4,
                   .share_of_batch = 1.0 / 3,
                   .step_ns = {100, 200, 300},
                   .losses = {3.5F, 2.25F, 0.1F},
                   .examples = {0, 50, 100}}};
  report.traffic[{.replica = 1, .stage = 2, .role = Role::Worker}] = {
      .sent = 7, .received = 8, .messages = 9};
  comm::ExchangeTimes& times =
      report.exchange_times[{.replica = 1, .stage = 2, .role = Role::Worker}];
  times.late.add(1'000);
  times.late.add(70);
  times.late_uncertainty_ns = 12;
  times.pushes = 5;
  report.workers[0].report.age.add(600);
  report.lost_updates = 11;
  return report;
}

Checkpoint sample() {
  return {.run_id = "0123456789abcdef0123456789abcdef",
          .command = "regatta run --out \xFF",
          .fingerprint = {{"seed", "1"}, {"graph", "12 nodes"}},
          .examples = 150,
          .training_ns = 1'000,
          .full_ns = 2'000,
          .checkpoints = {.written = 2, .time_ns = 300},
          .evaluations = {{.loss = 2.3, .metric = 10, .parameter_norm = 31.5},
                          {.examples = 50,
                           .epoch = 0.1,
                           .training_time_ns = 400,
                           .full_time_ns = 500,
                           .loss = 0.1 + 0.2,
                           .metric = 91}},
          .training_time_to_target_ns = 400,
          .full_time_to_target_ns = {},
          .examples_to_target = 50,
          .report = sample_report(),
          .variables = {{.name = "weight", .place = "replica0", .version = 0, .memory = kWeights},
                        {.name = "weight", .place = "replica1", .version = 5, .memory = kWeights},
                        {.name = "mean", .place = "replica0", .version = 0, .memory = kOthers}},
          .file = {}};
}

std::string text_of(const Checkpoint& checkpoint) {
  std::string text;
  encode(checkpoint, [&](std::span<const char> bytes) { text.append(bytes.begin(), bytes.end()); });
  return text;
}

/// The error of decoding a file of this text; empty if it is valid.
std::string error_of(const std::string& text) {
  return error_of([&] { decode({text.begin(), text.end()}, "FILE"); }, ErrorKind::Data);
}

std::string header_of(const std::string& text) {
  std::uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(text[16 + i]);
  return text.substr(32, size);
}

TEST(Checkpoint, ComesBackWhole) {
  const std::string text = text_of(sample());
  const Checkpoint back = decode({text.begin(), text.end()}, "FILE");
  EXPECT_EQ(back.fingerprint, sample().fingerprint);
  EXPECT_EQ(back.examples, 150);
  EXPECT_EQ(back.evaluations.at(1).loss, 0.1 + 0.2);
  EXPECT_EQ(back.full_time_to_target_ns, std::nullopt);
  EXPECT_EQ(back.report.loops.at(0).losses, sample_report().loops[0].losses);
  EXPECT_EQ(back.report.loops.at(0).examples, sample_report().loops[0].examples);
  ASSERT_EQ(back.variables.size(), 3U);
  EXPECT_EQ(back.variables[1].place, "replica1");
  EXPECT_EQ(back.variables[1].version, 5U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto memory = back.variables[i].memory;
    EXPECT_EQ(std::string_view(memory.data(), memory.size()), i < 2 ? kWeights : kOthers);
  }
  EXPECT_EQ(header_of(text_of(back)), header_of(text));  // all other fields
}

TEST(Checkpoint, HoldsTheSameBitsOnce) {
  Checkpoint differs = sample();
  differs.variables[1].memory = kOthers;
  EXPECT_EQ(text_of(differs).size(), text_of(sample()).size() + kWeights.size());
}

TEST(Checkpoint, TellsWhereLoopsStand) {
  const Positions positions = positions_of(sample());
  ASSERT_EQ(positions.loops.size(), 1U);
  EXPECT_EQ(positions.loops[0].number, 4);
  EXPECT_EQ(positions.loops[0].steps, 3);
  EXPECT_EQ(positions.loops[0].last_examples, 100);
  EXPECT_EQ(positions.steps, 3);
  EXPECT_EQ(positions.examples, sample().examples);
}

TEST(Checkpoint, IsRefusedWithAnyBitFlipped) {
  const std::string text = text_of(sample());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_NE(error_of(damaged), "") << i;
  }
  std::string late = text;
  late[text.size() - 9] ^= 1;
  EXPECT_NE(error_of(late).find("its checksum does not match"), std::string::npos);
}

TEST(Checkpoint, OfAnotherKindOrFormatIsRefused) {
  EXPECT_EQ(
      error_of(std::string(1000, '\0')),
      "--resume FILE: this is no checkpoint of Regatta; fix: give another checkpoint, or start "
      "again without --resume");
  std::string other = text_of(sample());
  other[8] = static_cast<char>(Checkpoint::kFormat - 1);
  EXPECT_NE(error_of(other).find(fmt::format("of format {}, where this program reads format {}",
                                             Checkpoint::kFormat - 1, Checkpoint::kFormat)),
            std::string::npos);
}

TEST(Checkpoint, IsRefusedWithLengthsBeyondTheFile) {
  for (std::size_t at : {16U, 24U}) {
    std::string text = text_of(sample());
    text.replace(at, 8, std::string(8, '\xFF'));
    EXPECT_NE(error_of(text).find("a damaged checkpoint: it has"), std::string::npos);
  }
}

TEST(JoinedReports, AddUpAndFollowEachOther) {
  run::TrainingReport later = sample_report();
  later.loops[0].losses = {9, 8, 7};
  later.planned_bytes = 77;
  const run::TrainingReport all = run::joined(sample_report(), later);
  EXPECT_EQ(all.loops.at(0).losses, (std::vector<float>{3.5F, 2.25F, 0.1F, 9, 8, 7}));
  EXPECT_EQ(all.loops.at(0).step_ns.size(), 6U);
  ASSERT_EQ(all.workers.size(), 1U);
  EXPECT_EQ(all.workers[0].report.steps, 6);
  EXPECT_EQ(all.workers[0].report.update_ns, 100);
  EXPECT_EQ(all.workers[0].report.staleness, (std::vector<std::uint64_t>{4, 0, 2}));
  EXPECT_EQ(all.workers[0].report.age.sum(), 1'200);
  EXPECT_EQ(all.workers[0].report.data_order, 0x8000'0000'0000'0002);  // modulo 2^64
  EXPECT_EQ(all.traffic.begin()->second.messages, 18);
  EXPECT_EQ(all.lost_updates, 22);
  EXPECT_EQ(all.planned_bytes, 77);
}

class CheckpointFolders : public testing::Test {
 protected:
  const testing_support::ScratchFolder folder_;
  const fs::path& scratch_ = folder_.path();
};

TEST_F(CheckpointFolders, KeepsTheLastOne) {
  const fs::path path = scratch_ / "checkpoints" / "run";
  CheckpointFolder folder(path);
  Checkpoint checkpoint = sample();
  folder.write(checkpoint);
  checkpoint.examples = 200;
  std::ofstream(path / "checkpoint.partial")
      << std::string(100'000, 'x');  // left by a run that was killed
  folder.write(checkpoint);
  EXPECT_EQ(read_checkpoint(path).examples, 200);
  EXPECT_EQ(read_checkpoint(path / "checkpoint").examples, 200);
  EXPECT_FALSE(fs::exists(path / "checkpoint.partial"));
  folder.remove();
  EXPECT_FALSE(fs::exists(scratch_ / "checkpoints"));
}

TEST_F(CheckpointFolders, IsOfOneRunAtATime) {
  {
    const CheckpointFolder first(scratch_ / "run");
    EXPECT_NE(error_of([&] { CheckpointFolder(scratch_ / "run"); }).find("another run writes"),
              std::string::npos);
  }
  EXPECT_EQ(error_of([&] { CheckpointFolder(scratch_ / "run"); }), "");
}

TEST_F(CheckpointFolders, SaysWhatItCannotRead) {
  EXPECT_NE(error_of([&] {
              read_checkpoint(scratch_ / "none");
            }).find("No such file or directory; fix: give a checkpoint, or its folder"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_checkpoint(scratch_); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([&] { read_checkpoint("/dev/zero"); }).find("not a file"), std::string::npos);
  std::ofstream(scratch_ / "empty").flush();
  EXPECT_NE(error_of([&] { read_checkpoint(scratch_ / "empty"); }).find("no checkpoint of Regatta"),
            std::string::npos);
}

TEST_F(CheckpointFolders, KeepsTheFormerOneWhereTheDiskIsFull) {
  if (mount("tmpfs", scratch_.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small file system takes root";
  }
  {
    CheckpointFolder folder(scratch_ / "run");
    Checkpoint checkpoint = sample();
    folder.write(checkpoint);
    EXPECT_EQ(error_of([&] { folder.require_room(); }), "");
    const std::string large(100'000, 'x');
    checkpoint.variables[0].memory = large;
    const std::string error = error_of([&] { folder.write(checkpoint); });
    EXPECT_NE(error.find("No space left on device; fix: make room there"), std::string::npos)
        << error;
    EXPECT_EQ(read_checkpoint(scratch_ / "run").examples, 150);
    EXPECT_FALSE(fs::exists(scratch_ / "run" / "checkpoint.partial"));
    std::ofstream(scratch_ / "filler") << std::string(fs::space(scratch_).available, 'x');
    EXPECT_NE(error_of([&] { folder.require_room(); }).find("room for one"), std::string::npos);
  }
  EXPECT_EQ(umount(scratch_.c_str()), 0);
}

}  // namespace
}  // namespace regatta::checkpoint
