// SPDX-License-Identifier: Apache-2.0
//
// One bidirectional gRPC stream between two processes. It always reads, and writes one chunk at a
// time while its link has some. This is the common part of both ends; the two kinds of reactor only
// forward calls (grpc_client_stream, grpc_server_stream).
// gRPC has two threads for all reactors of a process, so nothing here waits. Only cancel() calls
// gRPC while the mutex is held, because cancelling must not race with the stream's end.
// The thread that closes the exchange destroys a stream, never a thread of gRPC: gRPC 1.51 ends its
// threads with the last channel, and crashes if one of them does so.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::exchange {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Threads: any.

  /// Writes the link's next chunk unless a write is under way.
  void write();
  /// Ends the stream after the queued messages, so that the peer receives them.
  void close();
  /// Ends the stream at once.
  void cancel();
  /// Waits for the end of the stream. False: it goes on after the limit.
  bool wait_until_over(std::chrono::milliseconds limit);
  /// Releases the stream, which keeps itself alive until then. Called after its end.
  void let_go() { self_.reset(); }

 protected:
  // Operations of the reactor.
  virtual void start_read(grpc::ByteBuffer* chunk) = 0;
  virtual void start_write(const grpc::ByteBuffer* chunk, Chunk follows) = 0;
  /// Ends writing for good. True: on_write_done() will follow.
  virtual bool start_half_close() = 0;
  /// Ends the call; no operation is started afterwards.
  virtual void finish(const grpc::Status& status) = 0;
  virtual void cancel_call() = 0;

  // Notifications from the reactor.
  void begin_reading();
  void begin_writing();
  void on_read_done(bool ok);
  void on_write_done(bool ok);
  void on_over();

  /// The reason why the stream ended; called once, when the reactor is done.
  virtual std::string last_words() const = 0;

  Link& link() { return *link_; }
  std::string peer_name() const;

 private:
  void refuse(const std::string& what);
  void end(const grpc::Status& status);
  void finish_if_idle();

  const std::shared_ptr<Link> link_;
  std::shared_ptr<Stream> self_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;

  std::mutex mutex_;
  bool writing_ = true;    ///< a write is under way, or may not begin yet
  bool draining_ = false;  ///< close() was called
  bool ending_ = false;    ///< no write begins any more
  bool finished_ = false;  ///< finish() was called
  bool over_ = false;      ///< the reactor is done
  std::condition_variable is_over_;
  grpc::Status status_;
};

}  // namespace regatta::exchange
