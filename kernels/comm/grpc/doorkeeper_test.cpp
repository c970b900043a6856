// SPDX-License-Identifier: Apache-2.0
//
// The door of a gRPC server: which connections may stay, for how long, and that none blocks it.
#include "kernels/comm/grpc/doorkeeper.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

using std::chrono::milliseconds;

const std::string kKey = "aaaa";

/// A gRPC server without services, behind a door.
class Doors : public testing::Test {
 protected:
  void start(const DoorOptions& options) {
    door_ = std::make_unique<Doorkeeper>(options);
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&nothing_);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    door_->open(std::move(acceptor));
    port_ = static_cast<std::uint16_t>(
        std::stoi(door_->address().substr(door_->address().rfind(':') + 1)));
  }
  ~Doors() override {
    for (int descriptor : connected_) close(descriptor);
    if (door_) door_->close();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  /// Returns the connection.
  int connect() {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    connected_.push_back(descriptor);
    return descriptor;
  }
  /// Connects and requests entry with `key`; returns the connection and the answer.
  std::pair<int, std::string> ask(const std::string& key) {
    const int descriptor = connect();
    say(descriptor, "CONNECT 127.0.0.1:1 HTTP/1.0\r\nHost: a\r\nProxy-Authorization: Bearer ");
    say(descriptor, key + "\r\n\r\n");
    return {descriptor, answer(descriptor)};
  }
  static void say(int descriptor, const std::string& text) {
    EXPECT_EQ(send(descriptor, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  /// The first line of the answer; takes no later byte.
  static std::string answer(int descriptor) {
    std::string text;
    char byte = 0;
    while (!text.ends_with("\r\n\r\n") && recv(descriptor, &byte, 1, 0) == 1) text += byte;
    return text.substr(0, text.find('\r'));
  }
  /// Whether the server ends the connection within the limit.
  static bool ended(int descriptor, milliseconds limit) {
    pollfd state{.fd = descriptor, .events = POLLRDHUP};
    return poll(&state, 1, static_cast<int>(limit.count())) > 0;
  }
  bool strangers_become(std::size_t count) const {
    for (int i = 0; i < 300 && door_->strangers() != count; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return door_->strangers() == count;
  }

  grpc::CallbackGenericService nothing_;
  std::unique_ptr<Doorkeeper> door_;
  std::unique_ptr<grpc::Server> server_;
  std::uint16_t port_ = 0;
  std::vector<int> connected_;
};

TEST_F(Doors, SendTheOldestStrangerAwayForANewOne) {
  start({.listen = "127.0.0.1", .most_strangers = 2});
  const int first = connect();
  const int second = connect();
  ASSERT_TRUE(strangers_become(2));
  const int third = connect();
  EXPECT_TRUE(ended(first, milliseconds(3000)));
  EXPECT_FALSE(ended(second, milliseconds(100)));
  EXPECT_FALSE(ended(third, milliseconds(0)));
}

TEST_F(Doors, LetInAndLetStayWhoeverHasTheKey) {
  start({.listen = "127.0.0.1", .key = kKey, .most_strangers = 1, .patience = milliseconds(300)});
  const auto [friendly, welcome] = ask(kKey);
  EXPECT_EQ(welcome, "HTTP/1.0 200 OK");
  EXPECT_TRUE(strangers_become(0));
  const int other = connect();
  const int another = connect();
  EXPECT_TRUE(ended(other, milliseconds(3000)));
  EXPECT_TRUE(ended(another, milliseconds(3000)));  // it has stayed too long
  char byte = 0;
  EXPECT_EQ(recv(friendly, &byte, 1, 0), 1);  // the first byte of gRPC's HTTP/2 settings
  EXPECT_FALSE(ended(friendly, milliseconds(0)));
}

TEST_F(Doors, TurnAwayWhoeverDoesNotHaveTheKey) {
  start({.listen = "127.0.0.1", .key = kKey});
  const std::string refusal = "HTTP/1.0 407 Proxy Authentication Required";
  for (const std::string& key : {std::string(), std::string("aaab"), kKey + "a"}) {
    const auto [connection, answered] = ask(key);
    EXPECT_EQ(answered, refusal);
    EXPECT_TRUE(ended(connection, milliseconds(3000)));
  }
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  for (const std::string& text :
       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings, std::string("GET / HTTP/1.0\r\n\r\n"),
        std::string("CONNECT a:1 HTTP/1.0\r\n\r\n"), "CONNECT " + std::string(2000, 'a')}) {
    const int connection = connect();
    say(connection, text);
    EXPECT_EQ(answer(connection).substr(0, refusal.size()), refusal) << text;
    EXPECT_TRUE(ended(connection, milliseconds(3000)));
  }
  EXPECT_TRUE(strangers_become(0));
}

TEST_F(Doors, ForgetWhoeverWentByHimself) {
  start({.listen = "127.0.0.1"});
  connect();
  ASSERT_TRUE(strangers_become(1));
  close(connected_.back());
  connected_.pop_back();
  EXPECT_TRUE(strangers_become(0));
}

TEST_F(Doors, OpenAgainAfterTheProcessHadNoDescriptorLeft) {
  start({.listen = "127.0.0.1"});
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(client + 1), .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  connected_.push_back(client);
  EXPECT_TRUE(strangers_become(1));
}

TEST_F(Doors, AreNotOpenedWhereThePortIsTaken) {
  start({.listen = "127.0.0.1"});
  try {
    const Doorkeeper other({.listen = "127.0.0.1", .port = port_});
    FAIL() << "one port has two doors";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Io);
    EXPECT_NE(std::string(error.what()).find("Address already in use"), std::string::npos);
  }
}

TEST_F(Doors, AreNotOpenedAtAnotherMachinesAddress) {
  try {
    const Doorkeeper other({.listen = "203.0.113.1"});
    FAIL() << "this machine has an address that RFC 5737 keeps for examples";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
  }
}

}  // namespace
}  // namespace regatta
