// SPDX-License-Identifier: Apache-2.0
//
// The message of one Send kernel: its tensors in order, cut into chunks. A chunk is one gRPC
// message: a header (frame.h) and slices. Tensors are not copied unless they are small: the slices
// point to the tensor's memory, and gRPC signals when it has released each slice.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/comm/grpc/frame.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

/// Parts of a tensor with fewer bytes than this are copied after the header, because a separate
/// slice would cost more.
inline constexpr std::int64_t kCopiedBytes = 4096;

class Parcel {
 public:
  /// `header` has the fields that are equal in all chunks. The tensors' memory must not move.
  Parcel(const Frame& header, std::span<const Tensor> tensors, std::int64_t chunk_bytes);

  /// Starts the message of a step. The tensors' memory is in use until wait() returns true.
  /// Threads: called only by the lane.
  void begin(std::int64_t step);
  /// Sets `chunk` to the message's next chunk. Returns whether more chunks follow. Threads: called
  /// only by the thread that may write to the stream.
  bool next_chunk(grpc::ByteBuffer& chunk);
  /// Drops the remaining chunks. Threads: called only by the thread that removed the parcel from
  /// the link's queue.
  void drop();

  /// Waits until the tensors' memory is free again. Returns false if that takes longer than
  /// `patience.limit_ns`. Threads: called only by the lane, like the accessors below. Throws:
  /// Aborted.
  bool wait(const Patience& patience) { return released_.wait_for(begun_, patience); }
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  std::int64_t total_bytes() const { return header_.total_bytes; }
  std::int64_t message() const { return header_.message; }

 private:
  struct Piece {
    const std::uint8_t* data = nullptr;
    std::int64_t bytes = 0;
  };

  void add(Piece part);
  void flush();
  static void release(void* parcel);

  Frame header_;
  const std::int64_t chunk_bytes_;
  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;             ///< piece in which the next chunk begins
  std::int64_t piece_offset_ = 0;     ///< position in that piece
  std::vector<grpc::Slice> slices_;   ///< of the chunk being made; kept to reuse its memory
  std::vector<std::uint8_t> copied_;  ///< one slice of the header and small parts

  std::uint64_t begun_ = 0;
  std::atomic<std::int64_t> holders_{0};  ///< slices alive, plus one while queued
  Counter released_;                      ///< messages without any holder left
  std::atomic<bool> dropped_{false};
};

}  // namespace regatta::comm
