// SPDX-License-Identifier: Apache-2.0
//
// One bidirectional gRPC stream between two processes. It reads all the time, and writes one chunk
// after another while its link has chunks. This class contains the code that both ends share; the
// two reactors only forward calls (grpc_client_stream, grpc_server_stream).
// gRPC has two threads for all reactors of a process, so notifications must not wait. Only cancel()
// calls gRPC while the mutex is held, because cancelling must not race with the stream's end.
// A stream is destroyed by the thread that closes the exchange, never by one of gRPC's threads:
// gRPC 1.51 ends its threads with the last channel, and crashes if one of them destroys that
// channel.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::comm {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Threads: any.

  /// Writes the link's next chunk unless a write is under way.
  void write();
  /// Ends the stream when all queued messages are written, so that the peer receives them.
  void close();
  /// Ends the stream at once.
  void cancel();
  /// Waits for the end of the stream. Returns false if it has not ended after `limit`.
  bool wait_until_over(std::chrono::milliseconds limit);
  /// Drops the stream's reference to itself, which keeps it alive while gRPC uses it. Called after
  /// the stream has ended.
  void let_go() { self_.reset(); }

 protected:
  // Operations of the reactor.
  virtual void start_read(grpc::ByteBuffer* chunk) = 0;
  virtual void start_write(const grpc::ByteBuffer* chunk, Chunk follows) = 0;
  /// Ends writing for good. Returns whether on_write_done() will be called for this.
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

  /// Returns why the stream ended. Called once, when the reactor is done.
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

}  // namespace regatta::comm
