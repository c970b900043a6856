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

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::comm {

/// Changes two settings of the whole process at the first call, which must be made before any gRPC
/// object is created. First, gRPC stays initialised until the process ends, because its shutdown
/// may wait 10 s for one of its own pollers. Second, malloc does not return freed memory to the
/// kernel: gRPC allocates for every read, and getting the same pages anew in each step would take
/// as long as moving the bytes.
void prepare_process();

struct ListenOptions {
  std::string listen;  ///< address to bind to, without port, or `unix:FOLDER`
  std::string name;    ///< name of the socket in the folder
  int port = 0;        ///< 0: any free port
  TlsFiles tls;
  ConnectionLimits limits;
};

struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::string address;  ///< `ADDRESS:PORT` or `unix:FOLDER/NAME`
};

/// Starts a server; `add` registers its service. Throws: RunError(Io) if the server cannot listen
/// at the address.
Listener listen(const ListenOptions& options, const std::function<void(grpc::ServerBuilder&)>& add);

struct ConnectOptions {
  std::string address;  ///< address of a Listener
  TlsFiles tls;
  ConnectionLimits limits;
};

/// Makes a channel that shares its connection with no other channel.
std::shared_ptr<grpc::Channel> connect(const ConnectOptions& options);

grpc::WriteOptions write_options(Chunk follows);

}  // namespace regatta::comm
