// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::comm {
namespace {

constexpr std::uint64_t kOpen = 1;
constexpr std::uint64_t kLost = 2;

/// Copies the first bytes of `slices` to `header`, removes them, and returns their number.
std::size_t cut_header(std::vector<grpc::Slice>& slices, FrameBytes header) {
  std::size_t filled = 0;
  std::size_t emptied = 0;
  for (grpc::Slice& slice : slices) {
    const std::size_t bytes = std::min(slice.size(), header.size() - filled);
    std::copy_n(slice.begin(), bytes, header.data() + filled);
    filled += bytes;
    if (bytes < slice.size()) {
      slice = slice.sub(bytes, slice.size());
      break;
    }
    ++emptied;
  }
  slices.erase(slices.begin(), slices.begin() + static_cast<std::ptrdiff_t>(emptied));
  return filled;
}

}  // namespace

Inbox& Link::expect(std::int64_t message, std::int64_t total_bytes, std::uint64_t steps_ahead) {
  check(total_bytes > 0, "a message has at least one byte");
  const std::lock_guard lock(mutex_);
  auto [entry, is_new] =
      inboxes_.try_emplace(message, std::make_unique<Inbox>(total_bytes, steps_ahead));
  check(is_new, "a message has one receiver");
  if (lost_) entry->second->close();
  return *entry->second;
}

Parcel& Link::announce(std::int64_t message, std::span<const Tensor> tensors,
                       std::int64_t chunk_bytes) {
  const Frame header{.run_id = ends_.run_id, .from = ends_.process, .message = message};
  const std::lock_guard lock(mutex_);
  parcels_.push_back(std::make_unique<Parcel>(header, tensors, chunk_bytes));
  return *parcels_.back();
}

void Link::send(Parcel& parcel) {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_) {
      queue_.push_back(&parcel);
      stream = stream_;
    }
  }
  if (stream == nullptr) {
    parcel.drop();
  } else {
    stream->write();
  }
}

bool Link::is_lost() const { return opened_.value() == kLost; }

std::string Link::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

bool Link::take(std::shared_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  if (lost_ || stream_ != nullptr) return false;
  stream_ = std::move(stream);
  return true;
}

void Link::open() {
  const std::lock_guard lock(mutex_);
  if (!lost_) opened_.advance_to(kOpen);
}

Chunk Link::take_chunk(grpc::ByteBuffer& chunk) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return Chunk::None;
  if (queue_.front()->next_chunk(chunk)) return Chunk::MoreFollow;
  queue_.pop_front();
  return queue_.empty() ? Chunk::Last : Chunk::MoreFollow;
}

std::string Link::arrived(grpc::ByteBuffer& chunk) {
  slices_.clear();
  if (!chunk.Dump(&slices_).ok()) return "a chunk that gRPC cannot unpack";
  const auto bytes = static_cast<std::int64_t>(chunk.Length());
  chunk.Clear();
  std::array<std::uint8_t, kFrameBytes> header;
  const std::size_t filled = cut_header(slices_, header);
  const Decoded decoded = decode(std::span(header).first(filled),
                                 {.run_id = ends_.run_id,
                                  .from = ends_.peer,
                                  .payload_bytes = bytes - static_cast<std::int64_t>(filled)});
  if (!decoded.error.empty()) return "a frame whose " + decoded.error;
  Inbox* inbox = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = inboxes_.find(decoded.frame.message);
    if (found != inboxes_.end()) inbox = found->second.get();
  }
  const auto message = [&] { return "message " + std::to_string(decoded.frame.message); };
  if (inbox == nullptr) return message() + ", which no node here receives";
  const std::string error = inbox->accept(decoded.frame, slices_);
  slices_.clear();
  return error.empty() ? error : "a frame of " + message() + " whose " + error;
}

void Link::lose(const std::string& reason) {
  std::deque<Parcel*> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;
    lost_ = true;
    reason_ = reason;
    dropped.swap(queue_);
    for (auto& [message, inbox] : inboxes_) inbox->close();
    opened_.advance_to(kLost);
  }
  for (Parcel* parcel : dropped) parcel->drop();
}

std::shared_ptr<Stream> Link::stream() const {
  const std::lock_guard lock(mutex_);
  return stream_;
}

void Link::let_go() {
  std::shared_ptr<Stream> stream;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  stream.swap(stream_);
}

}  // namespace regatta::comm
