// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections for a gRPC server. gRPC itself would accept any number and would stop
// listening for good when the process runs out of file descriptors (gRPC 1.51, tcp_server_posix). A
// connection is a stranger until the server has checked a call on it and admits it. The number of
// strangers and their time are limited, and a new one displaces the oldest, so strangers cannot
// keep out a process of the run, which is admitted within moments.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace regatta {

/// `127.0.0.1:4000`, `[::1]:4000`
std::string with_port(const std::string& address, int port);

struct DoorOptions {
  std::string listen;  ///< address to bind to, without port
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

  /// Stops accepting. Called before the server shuts down, while admit() may still be called.
  void close();

  /// Admits a connection whose call has shown the token; it stays as long as it likes. `peer` as
  /// named by gRPC. Threads: any, here and below.
  void admit(const std::string& peer);

  /// The number of open connections that are not admitted.
  std::size_t strangers() const;

 private:
  /// Our own descriptor for a connection that gRPC holds, to end it.
  struct Stranger {
    int descriptor = -1;
    std::string address;
    std::string port;
    std::chrono::steady_clock::time_point since;
  };

  void serve();
  void accept_one();
  void forget_those_who_went();
  void send_away(const Stranger& stranger);

  DoorOptions options_;
  int listener_ = -1;
  int wake_ = -1;  ///< readable: quit
  std::string address_;
  std::unique_ptr<Acceptor> acceptor_;
  mutable std::mutex mutex_;
  std::deque<Stranger> strangers_;  ///< oldest first
  std::chrono::steady_clock::time_point looked_{};
  std::thread thread_;
};

}  // namespace regatta
