// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <malloc.h>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/grpc/unix_sockets.h"

namespace regatta::comm {
namespace {

/// gRPC reports a write as done when less than this is left, so the next chunk is ready in time.
constexpr int kWriteAheadBytes = 1 << 20;
constexpr int kKeptBytes = 1 << 30;    // of freed memory that the process keeps
constexpr int kMappedBytes = 1 << 25;  // larger blocks are mapped, as by glibc's own limit
constexpr int kHandshakeLimitMs = 5000;
constexpr int kIdleLimitMs = 10'000;

using Set = std::function<void(const char*, int)>;

/// Sets the arguments that both sides need. Keepalive: without the last two, pings stop while
/// nothing else is sent, or the server takes them for an attack and closes the connection.
void set_common(const ConnectionLimits& limits, const Set& set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits.most_message_bytes);
  set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, limits.most_message_bytes);
  set(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteAheadBytes);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, limits.keepalive_time_ms);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, limits.keepalive_timeout_ms);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, limits.keepalive_time_ms / 4);
}

RunError cannot_listen(const ListenOptions& options, const std::string& address) {
  std::string text = "cannot listen at " + address;
  if (!is_unix(address)) {
    text += options.port == 0 ? ": no port is free there, or it is no address of this machine"
                              : ": the port is taken, or it is no address of this machine";
    text += "; fix: give --listen an address of this machine that others reach";
  }
  return {ErrorKind::Io, text};
}

}  // namespace

void prepare_process() {
  static const bool prepared = [] {
    grpc_init();
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_MMAP_THRESHOLD, kMappedBytes);
    return true;
  }();
  static_cast<void>(prepared);
}

Listener listen(const ListenOptions& options,
                const std::function<void(grpc::ServerBuilder&)>& add) {
  const bool at_socket = is_unix(options.listen);
  std::string address =
      at_socket ? options.listen + "/" + options.name : with_port(options.listen, options.port);
  grpc::ServerBuilder builder;
  set_common(options.limits,
             [&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // no second server at the port
  // A connection without a stream is closed.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeLimitMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleLimitMs);
  add(builder);
  int port = 0;
  builder.AddListeningPort(address, server_credentials(options.tls), &port);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) throw cannot_listen(options, address);
  if (!at_socket) address = with_port(options.listen, port);
  return {.server = std::move(server), .address = std::move(address)};
}

std::shared_ptr<grpc::Channel> connect(const ConnectOptions& options) {
  grpc::ChannelArguments arguments;
  set_common(options.limits, [&](const char* name, int value) { arguments.SetInt(name, value); });
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // not shared with other channels
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // retries would keep the data that was sent
  return grpc::CreateCustomChannel(options.address, channel_credentials(options.tls), arguments);
}

grpc::WriteOptions write_options(Chunk follows) {
  grpc::WriteOptions options;
  options.set_no_compression();
  if (follows == Chunk::MoreFollow) options.set_buffer_hint();
  return options;
}

}  // namespace regatta::comm
