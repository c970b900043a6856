// SPDX-License-Identifier: Apache-2.0
//
// Sets up all gRPC servers and channels, both for exchanges and for the control service, so that
// the two ends' settings are in one place. The reason for each setting is beside it
// (grpc_channel.cpp).
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

/// Changes two settings of the whole process at the first call, which must be made before any gRPC
/// object is created. First, gRPC stays initialised until the process ends, because its shutdown
/// may wait 10 s for one of its own pollers. Second, malloc does not return freed memory to the
/// kernel: gRPC allocates for every read, and getting the same pages anew in each step would take
/// as long as moving the bytes.
void prepare_process();

/// The most strangers (doorkeeper.h) that may be connected at a time, in addition to
/// ListenOptions::processes.
inline constexpr int kMostStrangers = 64;

struct ListenOptions {
  std::string listen;  ///< address to bind to, without port
  int port = 0;        ///< 0: any free port
  int processes = 1;   ///< the most processes of the run that connect at the same time
  std::string key;     ///< the key that connections must present: door_key()
  TlsFiles tls;
  ConnectionLimits limits;
};

/// A server and the door that accepts its connections.
struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Doorkeeper::Acceptor> acceptor;  ///< passes the door's connections to the server
  std::unique_ptr<Doorkeeper> door;                ///< not yet open
};

/// Starts a server; `add` registers its service. Throws: RunError(Usage) if the address is not this
/// machine's, RunError(Io) if binding fails otherwise.
Listener listen(const ListenOptions& options, const std::function<void(grpc::ServerBuilder&)>& add);

struct ConnectOptions {
  std::string address;  ///< address of a Listener's door
  std::string key;
  TlsFiles tls;
  ConnectionLimits limits;
};

/// Makes a channel that shares its connection with no other channel.
std::shared_ptr<grpc::Channel> connect(const ConnectOptions& options);

grpc::WriteOptions write_options(Chunk follows);

}  // namespace regatta::exchange
