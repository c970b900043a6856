// SPDX-License-Identifier: Apache-2.0
//
// How all servers and channels of gRPC are set up, of exchanges as of the control service, both
// sides in one place. Why each setting is there stands beside it (grpc_channel.cpp).
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

/// To be called before anything of gRPC is made; the first call changes two things for the whole
/// process. gRPC stays initialised until it ends: taking it down may wait 10 s for a poller of its
/// own. And freed memory stays with the process: gRPC allocates what it reads, and to fetch the
/// same pages from the kernel at each step takes as long as to move the bytes.
void prepare_process();

/// That may be connected at a time, besides processes that connect at the same time.
inline constexpr int kMostStrangers = 64;

struct ListenOptions {
  std::string listen;  ///< address to bind to, without port
  int port = 0;        ///< 0: any that is free
  int processes = 1;   ///< that may connect at the same time
  std::string key;     ///< that opens the door to processes of the run: door_key()
  TlsFiles tls;
  ConnectionLimits limits;
};

/// A server and who accepts for it.
struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Doorkeeper::Acceptor> acceptor;  ///< of the server, for the door
  std::unique_ptr<Doorkeeper> door;                ///< not open yet
};

/// `add` registers the service. Throws: RunError(Usage) for an address that is not this machine's,
/// RunError(Io) when nothing can be bound there.
Listener listen(const ListenOptions& options, const std::function<void(grpc::ServerBuilder&)>& add);

struct ConnectOptions {
  std::string address;  ///< of a Listener's door
  std::string key;
  TlsFiles tls;
  ConnectionLimits limits;
};

/// A connection of its own.
std::shared_ptr<grpc::Channel> connect(const ConnectOptions& options);

grpc::WriteOptions write_options(Chunk follows);

}  // namespace regatta::exchange
