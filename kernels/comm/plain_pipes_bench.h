// SPDX-License-Identifier: Apache-2.0
//
// For exchange_bench: what the exchange is held against. Blocking TCP sockets, and a gRPC stream of
// ByteBuffers as plain as can be.
#pragma once

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/comm/exchange_for_test.h"

namespace regatta::bench {

inline constexpr std::int64_t kChunkBytes = 4 << 20;

/// One end of one way to carry bytes.
class Pipe {
 public:
  virtual ~Pipe() = default;
  virtual void send(const test::Bytes& from) = 0;
  virtual void receive(test::Bytes& to) = 0;
};

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

// Blocking TCP.

class TcpPipe final : public Pipe {
 public:
  explicit TcpPipe(int socket) : socket_(socket) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~TcpPipe() override { close(socket_); }
  void send(const test::Bytes& from) override {
    for (std::size_t done = 0; done < from.size();) {
      const ssize_t bytes = write(socket_, from.data() + done, from.size() - done);
      require(bytes > 0, "write");
      done += static_cast<std::size_t>(bytes);
    }
  }
  void receive(test::Bytes& to) override {
    for (std::size_t done = 0; done < to.size();) {
      const ssize_t bytes = read(socket_, to.data() + done, to.size() - done);
      require(bytes > 0, "read");
      done += static_cast<std::size_t>(bytes);
    }
  }

 private:
  int socket_;
};

inline sockaddr_in socket_address(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  require(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1, "address");
  return address;
}

/// A listening socket and its port.
inline std::pair<int, int> listen_tcp(const std::string& host) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = socket_address(host, 0);
  require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  require(listen(listener, 1) == 0, "listen");
  socklen_t length = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  return {listener, ntohs(address.sin_port)};
}

inline std::unique_ptr<Pipe> connect_tcp(const std::string& host, int port) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = socket_address(host, port);
  require(connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "connect");
  return std::make_unique<TcpPipe>(connection);
}

// A stream of ByteBuffers, driven by the calling thread.

template <typename Stream>
class PlainPipe final : public Pipe {
 public:
  PlainPipe(grpc::CompletionQueue& queue, Stream& stream) : queue_(queue), stream_(stream) {}
  void send(const test::Bytes& from) override {
    for (std::size_t done = 0; done < from.size();) {
      const std::size_t bytes = std::min<std::size_t>(kChunkBytes, from.size() - done);
      const grpc::Slice slice(from.data() + done, bytes, grpc::Slice::STATIC_SLICE);
      stream_.Write(grpc::ByteBuffer(&slice, 1), this);
      next();
      done += bytes;
    }
  }
  void receive(test::Bytes& to) override {
    for (std::size_t done = 0; done < to.size();) {
      grpc::ByteBuffer chunk;
      stream_.Read(&chunk, this);
      next();
      slices_.clear();
      require(chunk.Dump(&slices_).ok(), "unpack");
      for (const grpc::Slice& slice : slices_) {
        std::memcpy(to.data() + done, slice.begin(), slice.size());
        done += slice.size();
      }
    }
  }

 private:
  void next() {
    void* tag = nullptr;
    bool ok = false;
    require(queue_.Next(&tag, &ok) && ok, "plain stream");
  }
  grpc::CompletionQueue& queue_;
  Stream& stream_;
  std::vector<grpc::Slice> slices_;
};

struct PlainServer {
  explicit PlainServer(const std::string& host) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(16 << 20);
    builder.RegisterAsyncGenericService(&service);
    builder.AddListeningPort(host + ":0", grpc::InsecureServerCredentials(), &port);
    queue = builder.AddCompletionQueue();
    server = builder.BuildAndStart();
    service.RequestCall(&context, &stream, queue.get(), queue.get(), this);
  }
  std::unique_ptr<Pipe> accept() {
    void* tag = nullptr;
    bool ok = false;
    require(queue->Next(&tag, &ok) && ok, "accept");
    return std::make_unique<PlainPipe<grpc::GenericServerAsyncReaderWriter>>(*queue, stream);
  }
  int port = 0;
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

struct PlainClient {
  PlainClient(const std::string& host, int port) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(16 << 20);
    grpc::GenericStub stub(grpc::CreateCustomChannel(
        host + ":" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
    stream = stub.PrepareCall(&context, "/plain", &queue);
    stream->StartCall(this);
    void* tag = nullptr;
    bool ok = false;
    require(queue.Next(&tag, &ok) && ok, "connect");
    pipe = std::make_unique<PlainPipe<grpc::GenericClientAsyncReaderWriter>>(queue, *stream);
  }
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  std::unique_ptr<Pipe> pipe;
};

}  // namespace regatta::bench
