// SPDX-License-Identifier: Apache-2.0
//
// How gRPC's servers and channels are set up, both sides in one place. Why each setting is there
// stands beside it (grpc_channel.cpp).
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/support/status.h>

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

/// A server and who accepts for it.
struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Doorkeeper::Acceptor> acceptor;  ///< of the server, for the door
  std::unique_ptr<Doorkeeper> door;                ///< not open yet
};

/// Throws: RunError(Io) when nothing can be bound there. `port` 0: any that is free.
Listener listen(const ExchangeOptions& options, int port, grpc::CallbackGenericService& service);

/// A connection of its own to `address`.
std::shared_ptr<grpc::Channel> connect(const ExchangeOptions& options, const std::string& address);

grpc::WriteOptions write_options(Chunk follows);

}  // namespace regatta::exchange
