// SPDX-License-Identifier: Apache-2.0
//
// The connection to one other process: an inbox for each message expected from it, the parcels
// queued for it, which are sent in that order, and whether it is connected. A link opens once. When
// its stream ends for any reason, the link is lost for good and all waits for it end. Lock order: a
// thread that holds a stream's mutex may lock a link's mutex, never the reverse.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/comm/grpc/frame.h"
#include "kernels/comm/grpc/grpc_inbox.h"
#include "kernels/comm/grpc/grpc_parcel.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {

class Stream;

/// The two processes at the ends of a link.
struct LinkEnds {
  RunId run_id{};
  int process = 0;
  int peer = 0;
};

/// Whether there was a chunk to write, and whether more chunks follow it.
enum class Chunk { None, Last, MoreFollow };

class Link {
 public:
  explicit Link(const LinkEnds& ends) : ends_(ends) {}

  /// Declares a message that the peer will send; undeclared messages are refused. The message may
  /// arrive `steps_ahead` steps early (grpc_inbox.h). Called before the first step.
  Inbox& expect(std::int64_t message, std::int64_t total_bytes, std::uint64_t steps_ahead);
  Parcel& announce(std::int64_t message, std::span<const Tensor> tensors, std::int64_t chunk_bytes);

  // For lanes.

  /// Waits until the peer is connected or lost. Returns false if that takes longer than
  /// `patience.limit_ns`. Throws: Aborted.
  bool wait_until_open(const Patience& patience) { return opened_.wait_for(1, patience); }
  /// Queues a parcel for sending. Called after the parcel's begin().
  void send(Parcel& parcel);
  bool is_lost() const;
  /// Returns why the link is lost; empty if it is not.
  std::string reason() const;

  // For streams and the exchange. Threads: any.

  /// Makes `stream` the link's stream. Returns false if the link already has one or is lost.
  bool take(std::shared_ptr<Stream> stream);
  /// Opens the link, so that lanes may send. Called when the peer has identified itself.
  void open();
  bool is_open() const { return opened_.value() == 1; }
  /// Sets `chunk` to the next chunk to write, if any.
  Chunk take_chunk(grpc::ByteBuffer& chunk);
  /// Delivers a chunk that has arrived to its inbox. Returns an empty string, or the reason if the
  /// chunk is refused. Threads: called only by the gRPC reactor.
  std::string arrived(grpc::ByteBuffer& chunk);
  /// Marks the link as lost and ends all waits. Later calls do not change the reason.
  void lose(const std::string& reason);
  std::shared_ptr<Stream> stream() const;
  /// Releases the stream. Called when the stream has ended.
  void let_go();
  const LinkEnds& ends() const { return ends_; }

 private:
  const LinkEnds ends_;
  Counter opened_;  ///< 0; 1 once open; 2 once lost

  mutable std::mutex mutex_;
  std::map<std::int64_t, std::unique_ptr<Inbox>> inboxes_;
  std::vector<std::unique_ptr<Parcel>> parcels_;
  std::deque<Parcel*> queue_;
  std::shared_ptr<Stream> stream_;
  std::string reason_;
  bool lost_ = false;

  std::vector<grpc::Slice> slices_;  ///< of the last chunk received; under the stream's mutex
};

}  // namespace regatta::comm
