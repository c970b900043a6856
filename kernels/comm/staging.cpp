// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/staging.h"

#include <algorithm>

namespace regatta::comm {

Staging::Staging(LaneQueue* queue, std::span<const Tensor> tensors)
    : queue_(queue),
      tensors_(tensors.begin(), tensors.end()),
      staged_(tensors.begin(), tensors.end()) {
  for (const Tensor& tensor : tensors_) bytes_ += tensor.type.bytes();
  if (queue_ == nullptr) return;
  std::byte* next = buffer_.emplace(queue_->make_host_buffer(bytes_)).get();
  for (Tensor& staged : staged_) {
    staged.data = next;
    next += staged.type.bytes();
  }
}

void Staging::fetch() {
  if (queue_ == nullptr) return;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    queue_->copy(staged_[i].data, tensors_[i].data, tensors_[i].type.bytes());
  }
  queue_->finish();
}

void Staging::store(std::int64_t bytes) {
  std::int64_t begin = 0;  // position of the tensor in the message
  for (std::size_t i = 0; i < tensors_.size() && begin < bytes; ++i) {
    const std::int64_t end = begin + tensors_[i].type.bytes();
    const std::int64_t from = std::max(begin, stored_) - begin;
    const std::int64_t until = std::min(end, bytes) - begin;
    if (from < until) {
      queue_->copy(tensors_[i].as<std::byte>() + from, staged_[i].as<std::byte>() + from,
                   until - from);
    }
    begin = end;
  }
  stored_ = bytes;
}

}  // namespace regatta::comm
