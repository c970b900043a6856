// SPDX-License-Identifier: Apache-2.0
//
// A member's bucket in host memory, for collectives that the host performs. open() copies the
// values to be summed there, or, for an all_gather, the member's share; close() copies the result
// back.
// Threads: used only from the member's lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/comm/collective/bucket_elements.h"
#include "kernels/comm/staging.h"
#include "kernels/graph/collective.h"

namespace regatta::comm {

/// The tensors of a collective's kernel. The queue must outlive the bucket.
struct Bucket {
  Op op = Op::AllReduce;
  LaneQueue* queue = nullptr;
  std::vector<Tensor> tensors;  ///< contiguous and in order
  std::vector<Tensor> share;    ///< the member's input to an all_gather
  std::int64_t members = 1;
  std::int64_t member = 0;
};

inline Bucket bucket_of(const KernelRequest& request) {
  const bool gathers = request.node.op == Op::AllGather;
  const auto& tensors = gathers ? request.outputs : request.inputs;
  Bucket bucket{.op = request.node.op,
                .queue = request.queue,
                .tensors = {tensors.begin(), tensors.end()},
                .share = {},
                .members = request.node.attributes.integer("members"),
                .member = request.node.member};
  if (!gathers) return bucket;
  const auto own = pieces(request.node.outputs, bucket.members, bucket.member);
  bucket.share.assign(request.inputs.begin(), request.inputs.begin() + std::ssize(own));
  return bucket;
}

class HostBucket {
 public:
  explicit HostBucket(const Bucket& bucket)
      : staging_(bucket.queue, bucket.tensors),
        element_bytes_(size_of(bucket.tensors[0].type.element)),
        queue_(bucket.queue),
        gathers_(bucket.op == Op::AllGather),
        share_(bucket.share),
        share_at_(
            share(elements(), bucket.members, share_at(bucket.member, bucket.members)).begin) {}

  void* buffer() const { return staging_.tensors()[0].data; }
  std::int64_t elements() const { return staging_.bytes() / element_bytes_; }

  /// open() is called before the exchange, close() after it.
  void open() { gathers_ ? bring_share() : staging_.fetch(); }
  void close() {
    staging_.begin();
    staging_.store_until(staging_.bytes());
  }

 private:
  void bring_share() const {
    std::byte* to = static_cast<std::byte*>(buffer()) + share_at_ * element_bytes_;
    for (const Tensor& piece : share_) {
      if (queue_ != nullptr) {
        queue_->copy(to, piece.data, piece.type.bytes());
      } else {
        std::memcpy(to, piece.data, static_cast<std::size_t>(piece.type.bytes()));
      }
      to += piece.type.bytes();
    }
    if (queue_ != nullptr) queue_->finish();
  }

  Staging staging_;
  std::int64_t element_bytes_;
  LaneQueue* queue_;
  bool gathers_;
  std::vector<Tensor> share_;
  std::int64_t share_at_;  ///< in the bucket. Units: elements
};

}  // namespace regatta::comm
