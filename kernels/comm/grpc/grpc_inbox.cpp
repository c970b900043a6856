// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_inbox.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

constexpr std::uint64_t kClosed = std::numeric_limits<std::uint64_t>::max();

std::string must_be(const char* field, std::uint64_t says, std::uint64_t must) {
  return std::string(field) + " is " + std::to_string(says) + ", must be " + std::to_string(must);
}

}  // namespace

std::string Inbox::error_of(const Frame& frame) const {
  const auto total = static_cast<std::uint64_t>(total_bytes_);
  const auto frame_total = static_cast<std::uint64_t>(frame.total_bytes);
  const auto step = static_cast<std::uint64_t>(frame.step);
  const auto offset = static_cast<std::uint64_t>(frame.offset);
  if (frame_total != total) return must_be("total length", frame_total, total);
  if (step != accepted_ / total) return must_be("step", step, accepted_ / total);
  if (offset != accepted_ % total) return must_be("offset", offset, accepted_ % total);
  if (step > received_steps_ + steps_ahead_) {
    return "step is " + std::to_string(step) + ", more than " +
           (steps_ahead_ == 1 ? "one" : std::to_string(steps_ahead_)) + " ahead of step " +
           std::to_string(received_steps_);
  }
  return {};
}

std::string Inbox::accept(const Frame& frame, std::vector<grpc::Slice>& payload) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {};
  if (std::string error = error_of(frame); !error.empty()) return error;
  const std::size_t ahead = static_cast<std::uint64_t>(frame.step) - received_steps_;
  if (ahead >= steps_.size()) make_room(ahead + 1);
  Step& step = steps_[(first_ + ahead) % steps_.size()];
  for (grpc::Slice& slice : payload) step.slices.push_back(std::move(slice));
  accepted_ += static_cast<std::uint64_t>(frame.payload_bytes);
  step.arrival.last = ticks();
  if (frame.offset == 0) step.arrival.first = step.arrival.last;
  arrived_.advance_to(accepted_);
  return {};
}

/// Grows the ring to `steps`, at least twofold.
void Inbox::make_room(std::size_t steps) {
  std::rotate(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(first_), steps_.end());
  first_ = 0;
  steps_.resize(std::max(steps, 2 * steps_.size()));
}

void Inbox::close() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  arrived_.advance_to(kClosed);
}

bool Inbox::wait(const Patience& patience) { return arrived_.wait_for(taken_ + 1, patience); }

std::int64_t Inbox::take(std::vector<grpc::Slice>& to) {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  Step& step = steps_[first_];
  for (grpc::Slice& slice : step.slices) {
    bytes += static_cast<std::int64_t>(slice.size());
    to.push_back(std::move(slice));
  }
  step.slices.clear();
  taken_ += static_cast<std::uint64_t>(bytes);
  if (bytes > 0 && taken_ % static_cast<std::uint64_t>(total_bytes_) == 0) {
    taken_arrival_ = step.arrival;
    ++received_steps_;
    first_ = (first_ + 1) % steps_.size();
  }
  return bytes;
}

}  // namespace regatta::comm
