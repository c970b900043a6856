// SPDX-License-Identifier: Apache-2.0
//
// Tests the control service between a real server and real clients, over loopback and
// a Unix socket.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "harness/ranks/control.grpc.pb.h"
#include "harness/ranks/control_client.h"
#include "harness/ranks/control_messages.h"
#include "harness/ranks/control_server.h"
#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/unix_sockets.h"

namespace regatta::ranks {
namespace {

using std::chrono::milliseconds;

comm::RunIdentity identity() {
  return {.run_id = std::string(32, 'a'), .token = std::string(64, 'b')};
}

control::Hello hello_of(int rank) {
  control::Hello hello;
  hello.set_rank(rank);
  hello.set_host("here");
  hello.set_pid(42);
  return hello;
}

/// A client that may belong to another run. ask() sends its fields and returns the server's answer.
struct Stranger {
  std::string run_id = identity().run_id;
  std::string token = identity().token;
  std::string protocol = plan::kProtocolVersion;
  int rank = 0;

  grpc::Status ask(const ControlServer& server) const {
    auto stub = control::Control::NewStub(
        comm::connect({.address = server.address(), .tls = {}, .limits = kControlLimits}));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    comm::say({.run_id = run_id, .token = token}, protocol, context);
    auto stream = stub->Session(&context);
    control::FromRank first;
    *first.mutable_hello() = hello_of(rank);
    stream->Write(first);
    stream->WritesDone();
    return stream->Finish();
  }
};

/// Polls until `condition` holds, for five seconds at most.
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
  EXPECT_EQ(protocol.error_message(), "protocol version is '0', this process speaks '3'");
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

TEST(ControlClient, NoticesACoordinatorThatIsGone) {
  auto server = std::make_unique<ControlServer>(
      ControlServerOptions{.identity = identity(), .listen = "127.0.0.1", .ranks = 1});
  ControlClient client(server->address(), identity(), hello_of(0));
  ASSERT_TRUE(soon([&] { return server->state(0).greeted; }));
  server.reset();
  EXPECT_FALSE(client.read().has_value());
  EXPECT_NE(client.finish(), "");
}

TEST(ControlServer, HearsRanksAtASocketUntilItsFolderGoes) {
  auto folder = std::make_unique<comm::SocketFolder>();
  ControlServer server({.identity = identity(), .listen = folder->listen(), .ranks = 2});
  EXPECT_EQ(server.address(), folder->listen() + "/coordinator");
  ControlClient client(server.address(), identity(), hello_of(0));
  ASSERT_TRUE(soon([&] { return server.state(0).greeted; }));
  folder.reset();
  EXPECT_EQ(Stranger{.rank = 1}.ask(server).error_code(), grpc::StatusCode::UNAVAILABLE);
  control::ToRank command;
  command.mutable_advance()->set_examples(7);
  server.send(0, command);
  const auto heard = client.read();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->advance().examples(), 7);
}

TEST(ControlServer, CannotListenOnAnAddressThatIsNotThisMachines) {
  EXPECT_THROW(ControlServer({.identity = identity(), .listen = "203.0.113.1", .ranks = 1}),
               RunError);
}

}  // namespace
}  // namespace regatta::ranks
