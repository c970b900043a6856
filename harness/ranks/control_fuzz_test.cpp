// SPDX-License-Identifier: Apache-2.0
//
// What a rank or a coordinator says is read as bytes from the network: whatever they are, reading
// ends, and what comes of it is within its limits. Messages that were sent, with bytes changed,
// cut off and put in; under the address sanitizer a read beside them is found.
#include <gtest/gtest.h>

#include <random>

#include "harness/ranks/control_messages.h"
#include "harness/system/bytes.h"

namespace regatta {
namespace {

constexpr int kRounds = 100'000;
constexpr std::size_t kMostChanges = 8;

TrainingReport sample_report() {
  TrainingReport report;
  report.workers.push_back({.rank = 1, .report = {.place = {.replica = 1}, .staleness = {1, 2}}});
  report.loops.push_back(
      {.number = 2, .step_ns = {10, 20}, .losses = {1.0F, 0.5F}, .examples = {50, 100}});
  report.traffic[Place{.replica = 1}] = {.sent = 1, .received = 2, .messages = 3};
  report.exchange_times[Place{.replica = 1}].pushes = 7;
  report.kernels = {{.node = "convolution", .choice = "tiles"}};
  return report;
}

/// One of each kind that carries more than a number or two.
std::vector<std::string> messages() {
  std::vector<std::string> bytes;
  send_report(sample_report(), [&](const control::FromRank& message) {
    bytes.push_back(message.SerializeAsString());
  });
  control::FromRank joining;
  set_fingerprint(*joining.mutable_join(), {{"seed", "1"}, {"graph", "abc"}});
  bytes.push_back(joining.SerializeAsString());
  control::FromRank failing;
  failing.mutable_trouble()->set_kind("diverged");
  bytes.push_back(failing.SerializeAsString());
  control::ToRank beginning;
  set_positions(
      *beginning.mutable_begin_at(),
      {.loops = {{.number = 1, .steps = 2, .last_examples = 3}}, .steps = 4, .examples = 5});
  bytes.push_back(beginning.SerializeAsString());
  return bytes;
}

std::string changed(std::string bytes, std::mt19937& chance) {
  const std::size_t changes = 1 + chance() % kMostChanges;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = chance() % (bytes.size() + 1);
    const char value = static_cast<char>(chance());
    switch (chance() % 4) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(at, 1 + chance() % 4, value); break;
      default:
        if (at < bytes.size()) bytes[at] = value;
    }
  }
  return bytes;
}

/// Takes one piece of a report; whether it was all of one.
bool take(const control::ReportPiece& piece, ReportReader& reader) {
  try {
    const std::optional<TrainingReport> report = reader.take(piece, 3);
    if (!report) return false;
    for (const LoopHistory& loop : report->loops) {
      EXPECT_TRUE(loop.losses.empty() || loop.losses.size() == loop.examples.size());
    }
    for (const auto& [rank, worker] : report->workers) {
      EXPECT_GE(worker.place.role, Role::Worker);
      EXPECT_LE(worker.place.role, Role::Server);
    }
    return true;
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    return false;
  }
}

/// Reads one message as a coordinator and as a rank; whether it was one.
bool read(const std::string& bytes, ReportReader& reader) {
  control::FromRank from;
  const bool is_from = from.ParseFromString(bytes);
  if (is_from) {
    take(from.report_piece(), reader);
    EXPECT_EQ(fingerprint_in(from.join()).size(),
              static_cast<std::size_t>(from.join().fingerprint_size()));
    kind_of(from.trouble());
  }
  control::ToRank to;
  const bool is_to = to.ParseFromString(bytes);
  if (is_to) {
    EXPECT_EQ(positions_in(to.begin_at()).loops.size(),
              static_cast<std::size_t>(to.begin_at().loops_size()));
  }
  return is_from || is_to;
}

TEST(ControlMessages, AreReadWhateverTheirBytesAre) {
  std::mt19937 chance(7);
  const std::vector<std::string> sent = messages();
  int understood = 0;
  ReportReader reader;
  for (int round = 0; round < kRounds; ++round) {
    understood += read(changed(sent[chance() % sent.size()], chance), reader) ? 1 : 0;
  }
  // Else only the parser would be tried.
  EXPECT_GT(understood, kRounds / 10);
}

TEST(ControlMessages, ReadReportsWhateverTheirBytesAre) {
  std::mt19937 chance(8);
  const std::string sent = bytes_of(sample_report());
  int understood = 0;
  for (int round = 0; round < kRounds; ++round) {
    control::ReportPiece piece;
    piece.set_data(changed(sent, chance));
    piece.set_last(true);
    ReportReader reader;
    understood += take(piece, reader) ? 1 : 0;
  }
  // Values were changed and not only names and lengths, which are refused.
  EXPECT_GT(understood, kRounds / 100);
  EXPECT_LT(understood, kRounds);
}

}  // namespace
}  // namespace regatta
