// SPDX-License-Identifier: Apache-2.0
//
// Tests the contents of control messages between a rank and its coordinator, whole and damaged.
#include "harness/ranks/control_messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "harness/ranks/control_protocol.h"
#include "harness/system/bytes.h"
#include "kernels/base/error_for_test.h"

namespace regatta::ranks {
namespace {

/// The report of rank 4 read from these bytes, cut into pieces of `size`.
std::optional<run::TrainingReport> taken(const std::string& bytes, std::size_t size) {
  ReportReader reader;
  for (std::size_t begin = 0; begin < bytes.size(); begin += size) {
    control::BytesPiece piece;
    piece.set_data(bytes.substr(begin, size));
    piece.set_last(begin + size >= bytes.size());
    if (auto report = reader.take(piece, 4)) return report;
  }
  return std::nullopt;
}

std::string error_of(const std::string& bytes) {
  return regatta::testing_support::error_of([&] { taken(bytes, bytes.size()); },
                                            ErrorKind::PeerLost);
}

run::TrainingReport sample_report() {
  run::TrainingReport report;
  report.workers.push_back({.rank = 4, .report = {.place = {.replica = 3, .stage = 1}}});
  report.workers[0].report.staleness = {5, 0, 6};
  report.workers[0].report.data_order = 0xFEDC'BA98'7654'3210;
  report.workers[0].report.age.add(1'000);
  report.loops.push_back({.number = 9,
                          .share_of_batch = 0.25,
                          .step_ns = {10, 20},
                          .losses = {1.0F, std::numeric_limits<float>::infinity()},
                          .examples = {50, 100}});
  report.traffic[{.replica = 1, .stage = 0, .role = Role::Server}] = {
      .sent = 1, .received = 2, .messages = 3};
  comm::ExchangeTimes& times = report.exchange_times[{.replica = 3}];
  times.late.add(70);
  times.late_uncertainty_ns = 9;
  times.pushes = 8;
  report.clocks[4] = {.offset_ns = -4, .drift_ppb = 5, .error_ns = 6};
  report.kernels = {{.node = "convolution one", .choice = "an engine"},
                    {.node = "dense two", .choice = "tiles"}};
  report.planned_bytes = 11;
  return report;
}

TEST(ControlMessages, CarryAReport) {
  run::TrainingReport report = sample_report();
  report.loops[0].step_ns.assign(kPieceBytes / 4, 30);  // too long for one message
  report.loops[0].losses.assign(kPieceBytes / 4, 0.1F);
  report.loops[0].examples.assign(kPieceBytes / 4, 50);
  ReportReader reader;
  std::optional<run::TrainingReport> read;
  send_report(report, [&](const control::FromRank& message) {
    EXPECT_LT(message.ByteSizeLong(), static_cast<std::size_t>(kControlLimits.most_message_bytes));
    EXPECT_FALSE(read.has_value());
    read = reader.take(message.report_piece(), 4);
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(system::bytes_of(*read), system::bytes_of(report));
}

TEST(ControlMessages, TellTheRankThatHasReported) {
  run::TrainingReport report = sample_report();
  report.workers[0].rank = 1;
  report.clocks = {{1, report.clocks.at(4)}};
  const std::optional<run::TrainingReport> read = taken(system::bytes_of(report), 100);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(system::bytes_of(*read), system::bytes_of(sample_report()));
}

ProcessTrace sample_trace() {
  TraceRow row{.name = "replica3", .labels = {{"wait", "wait"}, {"dense one", "compute"}}};
  row.label = {1, 0};
  row.step = {0, 0};
  row.begin_ns = {-5, 10};
  row.end_ns = {10, 12};
  return {.rank = 4, .name = "rank 4: replica3", .rows = {row}};
}

TEST(ControlMessages, CarryATrace) {
  ProcessTrace trace = sample_trace();
  TraceRow& row = trace.rows[0];
  const std::size_t spans = kPieceBytes / 8;  // too many for one message
  row.label.assign(spans, 1);
  row.step.assign(spans, 7);
  row.begin_ns.assign(spans, 20);
  row.end_ns.assign(spans, 20);
  trace.rank = 1;  // ignored by the reader
  TraceReader reader;
  std::optional<ProcessTrace> read;
  send_trace(trace, [&](const control::FromRank& message) {
    EXPECT_LT(message.ByteSizeLong(), static_cast<std::size_t>(kControlLimits.most_message_bytes));
    EXPECT_FALSE(read.has_value());
    read = reader.take(message.trace_piece(), 4);
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->rank, 4);
  trace.rank = 4;
  EXPECT_EQ(system::bytes_of(*read), system::bytes_of(trace));
}

std::string error_of(const ProcessTrace& trace) {
  control::BytesPiece piece;
  piece.set_data(system::bytes_of(trace));
  piece.set_last(true);
  return regatta::testing_support::error_of([&] { TraceReader().take(piece, 4); },
                                            ErrorKind::PeerLost);
}

TEST(ControlMessages, RefuseATraceThatCouldNotBeWritten) {
  EXPECT_EQ(error_of(sample_trace()), "");
  const auto error_after = [](const auto& change) {
    ProcessTrace trace = sample_trace();
    change(trace, trace.rows[0]);
    return error_of(trace);
  };
  EXPECT_EQ(error_after([](auto&, TraceRow& row) { row.step.pop_back(); }),
            "its trace is damaged: the histories of a lane differ in length");
  EXPECT_EQ(error_after([](auto&, TraceRow& row) { row.label[1] = 2; }),
            "its trace is damaged: a span has no label");
  EXPECT_EQ(error_after([](auto&, TraceRow& row) { row.begin_ns[1] = 9; }),
            "its trace is damaged: a span begins before the one before it ends");
  EXPECT_EQ(error_after([](auto&, TraceRow& row) { row.end_ns[1] = 9; }),
            "its trace is damaged: a span begins before the one before it ends");
  EXPECT_EQ(error_after([](ProcessTrace& trace, auto&) { trace.name = "a\"b"; }),
            "its trace is damaged: a name has characters that none has");
  EXPECT_EQ(error_after([](auto&, TraceRow& row) { row.labels[0].name = "a\nb"; }),
            "its trace is damaged: a name has characters that none has");
}

TEST(ControlMessages, KeepTheKindOfEveryError) {
  for (const ErrorKind kind :
       {ErrorKind::Usage, ErrorKind::Data, ErrorKind::Diverged, ErrorKind::PeerLost,
        ErrorKind::Timeout, ErrorKind::Unsupported, ErrorKind::Io, ErrorKind::Device}) {
    control::Trouble trouble;
    trouble.set_kind(std::string(to_string(kind)));
    EXPECT_EQ(kind_of(trouble), kind) << trouble.kind();
  }
  EXPECT_EQ(kind_of(control::Trouble()), ErrorKind::PeerLost);
}

TEST(ControlMessages, RefuseAReportThatIsNone) {
  const std::string bytes = system::bytes_of(sample_report());
  EXPECT_EQ(error_of("x"), "its report is damaged: at byte 0 of 1 it is cut short");
  EXPECT_NE(error_of(bytes + "x").find("more follows"), std::string::npos);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(bytes.substr(0, size)), "") << size;
  }
}

TEST(ControlMessages, RefuseAReportThatContradictsItself) {
  run::TrainingReport report = sample_report();
  report.loops[0].examples.pop_back();
  EXPECT_EQ(error_of(system::bytes_of(report)),
            "its report is damaged: the histories of a loop differ in length");
}

}  // namespace
}  // namespace regatta::ranks
