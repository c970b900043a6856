// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections for a gRPC server, and only those that show the run's key reach its HTTP/2
// stack, which a stranger could otherwise keep busy and fill (rapid reset, CVE-2023-44487; gRPC
// 1.51 has no limit for it). gRPC itself would also accept any number of connections and stop
// listening for good when the process runs out of file descriptors (tcp_server_posix).
//   client  CONNECT host:port HTTP/1.0, and a header Proxy-Authorization: Bearer KEY
//   door    HTTP/1.0 200 OK, and from there on the connection is gRPC's; or 407
// A client of gRPC says so by itself where two channel arguments ask it to (door_arguments). Until
// it has, a connection is a stranger. The number of strangers, their time and their bytes are
// limited, and a new one displaces the oldest, so strangers cannot keep out a process of the run.
// Source: RFC 9110, 9.3.6 and 11.7.
#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace regatta {

/// `127.0.0.1:4000`, `[::1]:4000`
std::string with_port(const std::string& address, int port);

/// What opens the door, by the run's token of which it is the first half: it crosses the network
/// in the clear even under TLS, the other half does not.
std::string door_key(std::string_view token);

/// What a client of gRPC 1.51 and later sends through a proxy, as channel arguments by name.
/// `address`: of the door.
std::vector<std::pair<std::string, std::string>> door_arguments(const std::string& address,
                                                                std::string_view key);

/// In gRPC's words of a connection that the door has refused.
inline constexpr std::string_view kRefusedAtTheDoor = "HTTP proxy returned response code 407";

/// Takes as long wherever two texts differ.
bool same_secret(std::string_view a, std::string_view b);

struct DoorOptions {
  std::string listen;  ///< address to bind to, without port
  std::string key;     ///< of those who may come in
  int port = 0;        ///< 0: any that is free
  std::size_t most_strangers = 64;
  std::chrono::milliseconds patience{15'000};     ///< the time of a stranger
  std::chrono::milliseconds unsent_limit{7'000};  ///< for data that is not acknowledged
};

class Doorkeeper {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  /// Binds; accepts no one yet. Throws: RunError(Usage) for an address that is not this machine's,
  /// RunError(Io).
  explicit Doorkeeper(const DoorOptions& options);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  /// `address:port`
  const std::string& address() const { return address_; }

  /// From now on hands connections to a server that runs.
  void open(std::unique_ptr<Acceptor> acceptor);

  /// Stops accepting. Called before the server shuts down.
  void close();

  /// The number of open connections that have not shown the key. Threads: any.
  std::size_t strangers() const { return stranger_count_; }

 private:
  struct Stranger {
    int descriptor = -1;
    std::string said;  ///< of its request, so far
    std::chrono::steady_clock::time_point since;
  };
  enum class Judgement { Waits, MayComeIn, MustGo };

  void serve();
  void accept_one();
  void hear(Stranger& stranger);
  Judgement judge(const Stranger& stranger) const;
  void let_in(Stranger& stranger);
  void send_away(Stranger& stranger);

  DoorOptions options_;
  int listener_ = -1;
  int wake_ = -1;  ///< readable: quit
  std::string address_;
  std::unique_ptr<Acceptor> acceptor_;
  std::deque<Stranger> strangers_;  ///< oldest first; of the thread
  std::atomic<std::size_t> stranger_count_ = 0;
  std::thread thread_;
};

}  // namespace regatta
