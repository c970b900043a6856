// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections for a gRPC server and hands over only those that present the run's key.
// Other connections never reach the server's HTTP/2 stack, which an attacker could overload (rapid
// reset, CVE-2023-44487; gRPC 1.51 has no limit for it). gRPC itself accepts any number of
// connections and, when file descriptors run out, stops listening for good (tcp_server_posix).
//   client  CONNECT host:port HTTP/1.0, and a header Proxy-Authorization: Bearer KEY
//   door    HTTP/1.0 200 OK, and from there on the connection is gRPC's; or 407
// A gRPC client sends this request itself when two channel arguments are set (door_arguments). A
// connection that has not yet sent it is called a stranger. The number of strangers, their time and
// their bytes are limited, and a new stranger displaces the oldest, so strangers cannot keep out a
// process of the run.
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

/// Joins an address and a port: `127.0.0.1:4000`, `[::1]:4000`.
std::string with_port(const std::string& address, int port);

/// Returns the door's key: the first half of the run's token. Only this half is sent unencrypted
/// even if TLS is used.
std::string door_key(std::string_view token);

/// Returns names and values of channel arguments that make a client of gRPC 1.51 or later send the
/// request to the door at `address`, as it would to a proxy.
std::vector<std::pair<std::string, std::string>> door_arguments(const std::string& address,
                                                                std::string_view key);

/// gRPC's message for a connection that the door has refused.
inline constexpr std::string_view kRefusedAtTheDoor = "HTTP proxy returned response code 407";

/// Compares two texts in a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);

struct DoorOptions {
  std::string listen;  ///< address to bind to, without port
  std::string key;     ///< the key that connections must present
  int port = 0;        ///< 0: any free port
  std::size_t most_strangers = 64;
  std::chrono::milliseconds patience{15'000};     ///< the longest that a stranger may stay
  std::chrono::milliseconds unsent_limit{7'000};  ///< the longest that data may be unacknowledged
};

class Doorkeeper {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  /// Binds the port, but does not accept connections before open(). Throws: RunError(Usage) if the
  /// address is not this machine's, RunError(Io) if binding fails otherwise.
  explicit Doorkeeper(const DoorOptions& options);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  /// Returns the bound address, `address:port`.
  const std::string& address() const { return address_; }

  /// Starts to accept connections and to hand them to `acceptor`, which belongs to a running
  /// server.
  void open(std::unique_ptr<Acceptor> acceptor);

  /// Stops accepting. Called before the server shuts down.
  void close();

  /// Returns the number of open connections that have not presented the key. Threads: any.
  std::size_t strangers() const { return stranger_count_; }

 private:
  struct Stranger {
    int descriptor = -1;
    std::string said;  ///< its request so far
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
  int wake_ = -1;  ///< readable when the thread must end
  std::string address_;
  std::unique_ptr<Acceptor> acceptor_;
  std::deque<Stranger> strangers_;  ///< oldest first; used by the thread only
  std::atomic<std::size_t> stranger_count_ = 0;
  std::thread thread_;
};

}  // namespace regatta
