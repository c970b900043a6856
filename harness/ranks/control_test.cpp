// SPDX-License-Identifier: Apache-2.0
//
// The control service between a real server and real clients, over loopback.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "harness/ranks/control.grpc.pb.h"
#include "harness/ranks/control_client.h"
#include "harness/ranks/control_messages.h"
#include "harness/ranks/control_server.h"
#include "harness/system/bytes.h"
#include "kernels/comm/grpc/certificates_for_test.h"
#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_hello.h"

namespace regatta {
namespace {

using std::chrono::milliseconds;

RunIdentity identity() { return {.run_id = std::string(32, 'a'), .token = std::string(64, 'b')}; }

control::Hello hello_of(int rank) {
  control::Hello hello;
  hello.set_rank(rank);
  hello.set_host("here");
  hello.set_pid(42);
  return hello;
}

/// What a server with two ranks answers to a stranger who has passed the door.
struct Stranger {
  std::string run_id = identity().run_id;
  std::string token = identity().token;
  std::string protocol = kProtocolVersion;
  int rank = 0;

  grpc::Status ask(const ControlServer& server) const {
    auto stub = control::Control::NewStub(exchange::connect({.address = server.address(),
                                                             .key = door_key(identity().token),
                                                             .tls = {},
                                                             .limits = kControlLimits}));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    exchange::say({.run_id = run_id, .token = token}, protocol, context);
    auto stream = stub->Session(&context);
    control::FromRank first;
    *first.mutable_hello() = hello_of(rank);
    stream->Write(first);
    stream->WritesDone();
    return stream->Finish();
  }
};

/// Looks until `condition` holds, for five seconds at most.
template <typename Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

class Control : public testing::Test {
 protected:
  ControlServer server_{{.identity = identity(), .listen = "127.0.0.1", .ranks = 2}};
};

TEST_F(Control, RefusesAStrangerAndSaysWhy) {
  EXPECT_EQ(Stranger{}.ask(server_).error_code(), grpc::StatusCode::OK);
  const grpc::Status run = Stranger{.run_id = std::string(32, 'c')}.ask(server_);
  EXPECT_EQ(run.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(run.error_message(),
            "run id is '" + std::string(32, 'c') + "', this process belongs to another run");
  const grpc::Status token = Stranger{.token = std::string(63, 'b')}.ask(server_);
  EXPECT_EQ(token.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status protocol = Stranger{.protocol = "0"}.ask(server_);
  EXPECT_EQ(protocol.error_message(), "protocol version is '0', this process speaks '2'");
  EXPECT_EQ(Stranger{.rank = 2}.ask(server_).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Stranger{.rank = -1}.ask(server_).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_FALSE(server_.state(1).greeted);
}

TEST_F(Control, HasOneSessionForEachRank) {
  const ControlClient first(server_.address(), identity(), hello_of(1));
  ASSERT_TRUE(soon([this] { return server_.state(1).greeted; }));
  EXPECT_EQ(Stranger{.rank = 1}.ask(server_).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(server_.state(1).host, "here");
  EXPECT_EQ(server_.state(1).pid, 42);
}

TEST_F(Control, CarriesCommandsAndAnswers) {
  ControlClient client(server_.address(), identity(), hello_of(0));
  ASSERT_TRUE(soon([this] { return server_.state(0).greeted; }));
  control::ToRank command;
  command.mutable_advance()->set_examples(7);
  server_.send(0, command);
  const auto heard = client.read();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->advance().examples(), 7);
  control::FromRank answer;
  answer.mutable_advanced()->set_examples(8);
  client.send(answer);
  const auto message = server_.next(milliseconds(5000));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->rank, 0);
  EXPECT_EQ(message->body.advanced().examples(), 8);
  EXPECT_EQ(server_.state(0).examples, 8);
}

TEST_F(Control, CarriesTextThatIsNoUtf8AndPrintsNothing) {
  const std::string text = "/data/caf\xE9/\xFF";
  control::Hello hello = hello_of(0);
  hello.set_host(text);
  testing::internal::CaptureStderr();
  ControlClient client(server_.address(), identity(), hello);
  EXPECT_TRUE(soon([&] { return server_.state(0).host == text; }));
  control::FromRank trouble;
  trouble.mutable_trouble()->set_text(text);
  client.send(trouble);
  const auto message = server_.next(milliseconds(5000));
  control::ToRank stop;
  stop.mutable_stop()->set_reason(text);
  server_.send(0, stop);
  const auto heard = client.read();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->body.trouble().text(), text);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->stop().reason(), text);
}

TEST_F(Control, HearsTheBeatsOfARankThatIsBusy) {
  ControlClient client(server_.address(), identity(), hello_of(0));
  client.beat([] {
    control::Beat progress;
    progress.set_examples(123);
    progress.set_loss(0.5);
    return progress;
  });
  EXPECT_TRUE(soon([this] { return server_.state(0).examples == 123; }));
  EXPECT_EQ(server_.state(0).loss, 0.5);
  EXPECT_FALSE(server_.next(milliseconds(0)).has_value());
}

TEST_F(Control, NoticesASessionThatBreaks) {
  {
    const ControlClient client(server_.address(), identity(), hello_of(0));
    ASSERT_TRUE(soon([this] { return server_.state(0).greeted; }));
    EXPECT_FALSE(server_.state(0).broken);
  }
  EXPECT_TRUE(soon([this] { return server_.state(0).broken; }));
  server_.send(0, {});  // does nothing
}

/// The error that a client's session with the server ends with, before it begins.
std::string refusal(const ControlServer& server, const TlsFiles& tls) {
  try {
    const ControlClient client(server.address(), identity(), hello_of(0), tls);
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    return error.what();
  }
  return "no error";
}

TEST(ControlOverTls, TakesOneWithACertificateOfTheAuthority) {
  const test::Certificates certificates;
  const TlsFiles tls = certificates.files_of("process");
  ControlServer server({.identity = identity(), .ranks = 1, .tls = tls});
  const ControlClient client(server.address(), identity(), hello_of(0), tls);
  EXPECT_TRUE(soon([&] { return server.state(0).greeted; }));
}

TEST(ControlOverTls, RefusesOneWithoutACertificateOfTheAuthority) {
  const test::Certificates certificates;
  const ControlServer server(
      {.identity = identity(), .ranks = 1, .tls = certificates.files_of("process")});
  TlsFiles believing = certificates.files_of("stranger");
  believing.authority = certificates.path("authority");  // takes the server's, shows its own
  for (const TlsFiles& tls : {certificates.files_of("stranger"), believing}) {
    const std::string error = refusal(server, tls);
    EXPECT_NE(error.find("no connection to the coordinator at 127.0.0.1:"), std::string::npos);
    EXPECT_NE(error.find("the same for all processes"), std::string::npos) << error;
  }
  EXPECT_NE(Stranger{}.ask(server).error_code(), grpc::StatusCode::OK);
  EXPECT_FALSE(server.state(0).greeted);
}

TEST(ControlOverTls, IsNotSpokenToAPlainCoordinator) {
  const test::Certificates certificates;
  const ControlServer server({.identity = identity(), .ranks = 1});
  const std::string error = refusal(server, certificates.files_of("process"));
  EXPECT_NE(error.find("the same for all processes"), std::string::npos) << error;
}

TEST(ControlClient, NoticesACoordinatorThatIsGone) {
  auto server = std::make_unique<ControlServer>(
      ControlServerOptions{.identity = identity(), .listen = "127.0.0.1", .ranks = 1});
  ControlClient client(server->address(), identity(), hello_of(0));
  ASSERT_TRUE(soon([&] { return server->state(0).greeted; }));
  server.reset();
  EXPECT_FALSE(client.read().has_value());
  EXPECT_NE(client.finish(), "");
}

TEST(ControlServer, CannotListenOnAnAddressThatIsNotThisMachines) {
  EXPECT_THROW(ControlServer({.identity = identity(), .listen = "203.0.113.1", .ranks = 1}),
               RunError);
}

/// The report of rank 4 whose messages these bytes are, cut into pieces of `size`.
std::optional<TrainingReport> taken(const std::string& bytes, std::size_t size) {
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
  try {
    taken(bytes, bytes.size());
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    return error.what();
  }
  return "no error";
}

TrainingReport sample_report() {
  TrainingReport report;
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
  ExchangeTimes& times = report.exchange_times[{.replica = 3}];
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
  TrainingReport report = sample_report();
  report.loops[0].step_ns.assign(kPieceBytes / 4, 30);  // too long for one message
  report.loops[0].losses.assign(kPieceBytes / 4, 0.1F);
  report.loops[0].examples.assign(kPieceBytes / 4, 50);
  ReportReader reader;
  std::optional<TrainingReport> read;
  send_report(report, [&](const control::FromRank& message) {
    EXPECT_LT(message.ByteSizeLong(), static_cast<std::size_t>(kControlLimits.most_message_bytes));
    EXPECT_FALSE(read.has_value());
    read = reader.take(message.report_piece(), 4);
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(bytes_of(*read), bytes_of(report));
}

TEST(ControlMessages, TellTheRankThatHasReported) {
  TrainingReport report = sample_report();
  report.workers[0].rank = 1;
  report.clocks = {{1, report.clocks.at(4)}};
  const std::optional<TrainingReport> read = taken(bytes_of(report), 100);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(bytes_of(*read), bytes_of(sample_report()));
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
  trace.rank = 1;  // whatever it says
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
  EXPECT_EQ(bytes_of(*read), bytes_of(trace));
}

std::string error_of(const ProcessTrace& trace) {
  control::BytesPiece piece;
  piece.set_data(bytes_of(trace));
  piece.set_last(true);
  try {
    TraceReader().take(piece, 4);
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    return error.what();
  }
  return "no error";
}

TEST(ControlMessages, RefuseATraceThatCouldNotBeWritten) {
  EXPECT_EQ(error_of(sample_trace()), "no error");
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
  const std::string bytes = bytes_of(sample_report());
  EXPECT_EQ(error_of("x"), "its report is damaged: at byte 0 of 1 it is cut short");
  EXPECT_NE(error_of(bytes + "x").find("more follows"), std::string::npos);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(bytes.substr(0, size)), "no error") << size;
  }
}

TEST(ControlMessages, RefuseAReportThatContradictsItself) {
  TrainingReport report = sample_report();
  report.loops[0].examples.pop_back();
  EXPECT_EQ(error_of(bytes_of(report)),
            "its report is damaged: the histories of a loop differ in length");
}

}  // namespace
}  // namespace regatta
