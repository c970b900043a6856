// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_parcel.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::comm {

Parcel::Parcel(const Frame& header, std::span<const Tensor> tensors, std::int64_t chunk_bytes)
    : header_(header), chunk_bytes_(chunk_bytes) {
  header_.total_bytes = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.type.bytes() == 0) continue;
    pieces_.push_back({.data = tensor.as<const std::uint8_t>(), .bytes = tensor.type.bytes()});
    header_.total_bytes += tensor.type.bytes();
  }
  check(header_.total_bytes > 0, "a message has at least one byte");
}

void Parcel::begin(std::int64_t step) {
  check(holders_.load() == 0, "a message is sent again when it has no holder any more");
  header_.step = step;
  header_.offset = 0;
  piece_ = 0;
  piece_offset_ = 0;
  ++begun_;
  holders_.store(1, std::memory_order_release);
}

bool Parcel::next_chunk(grpc::ByteBuffer& chunk) {
  header_.payload_bytes = std::min(chunk_bytes_, header_.total_bytes - header_.offset);
  copied_.resize(kFrameBytes);
  encode(header_, FrameBytes(copied_.data(), kFrameBytes));
  std::int64_t left = header_.payload_bytes;
  while (left > 0) {
    const Piece& piece = pieces_[piece_];
    const std::int64_t bytes = std::min(left, piece.bytes - piece_offset_);
    add({.data = piece.data + piece_offset_, .bytes = bytes});
    left -= bytes;
    piece_offset_ += bytes;
    if (piece_offset_ == piece.bytes) {
      ++piece_;
      piece_offset_ = 0;
    }
  }
  flush();
  grpc::ByteBuffer made(slices_.data(), slices_.size());
  chunk.Swap(&made);
  slices_.clear();
  header_.offset += header_.payload_bytes;
  if (header_.offset < header_.total_bytes) return true;
  release(this);
  return false;
}

void Parcel::drop() {
  dropped_.store(true, std::memory_order_release);
  release(this);
}

void Parcel::add(Piece part) {
  if (part.bytes < kCopiedBytes) {
    copied_.insert(copied_.end(), part.data, part.data + part.bytes);
    return;
  }
  flush();
  holders_.fetch_add(1, std::memory_order_relaxed);
  // gRPC only reads it.
  slices_.emplace_back(const_cast<std::uint8_t*>(part.data), static_cast<std::size_t>(part.bytes),
                       &Parcel::release, this);
}

void Parcel::flush() {
  if (copied_.empty()) return;
  slices_.emplace_back(copied_.data(), copied_.size());
  copied_.clear();
}

/// Called by gRPC for each released slice, the last before the next message begins. Threads: any.
void Parcel::release(void* parcel) {
  auto* const self = static_cast<Parcel*>(parcel);
  if (self->holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  self->released_.advance_to(self->begun_);
}

}  // namespace regatta::comm
