// SPDX-License-Identifier: Apache-2.0
//
// Sets up all gRPC servers and channels, of exchanges and of the control service, both sides in one
// place. The reason for each setting is beside it (grpc_channel.cpp).
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

#include "kernels/comm/grpc/doorkeeper.h"
#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::exchange {

/// Changes two settings of the whole process, at the first call; to be called before any gRPC
/// object is made. gRPC stays initialised until the process ends: its shutdown may wait 10 s for
/// one of its own pollers. Freed memory stays with the process: gRPC allocates for every read, and
/// fetching the same pages from the kernel at each step takes as long as moving the bytes.
void prepare_process();

/// The most strangers connected at a time, besides ListenOptions::processes.
inline constexpr int kMostStrangers = 64;

struct ListenOptions {
  std::string listen;  ///< address to bind to, without port
  int port = 0;        ///< 0: any that is free
  int processes = 1;   ///< the most that connect at the same time
  std::string key;     ///< of the door, for processes of the run: door_key()
  TlsFiles tls;
  ConnectionLimits limits;
};

/// A server and the door that accepts its connections.
struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Doorkeeper::Acceptor> acceptor;  ///< passes the door's connections to the server
  std::unique_ptr<Doorkeeper> door;                ///< not yet open
};

/// Starts a server; `add` registers its service. Throws: RunError(Usage) for an address that is not
/// this machine's, RunError(Io) when nothing can be bound there.
Listener listen(const ListenOptions& options, const std::function<void(grpc::ServerBuilder&)>& add);

struct ConnectOptions {
  std::string address;  ///< of a Listener's door
  std::string key;
  TlsFiles tls;
  ConnectionLimits limits;
};

/// Makes a channel with a connection of its own.
std::shared_ptr<grpc::Channel> connect(const ConnectOptions& options);

grpc::WriteOptions write_options(Chunk follows);

}  // namespace regatta::exchange
