// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::comm {

std::string Stream::peer_name() const { return "process " + std::to_string(link_->ends().peer); }

void Stream::begin_reading() {
  {
    const std::lock_guard lock(mutex_);
    self_ = shared_from_this();
  }
  start_read(&in_);
}

void Stream::begin_writing() { on_write_done(true); }

void Stream::write() {
  Chunk chunk = Chunk::None;
  {
    const std::lock_guard lock(mutex_);
    if (writing_ || ending_) return;
    chunk = link_->take_chunk(out_);
    if (chunk == Chunk::None && !draining_) return;
    writing_ = true;
    ending_ = chunk == Chunk::None;
  }
  if (chunk != Chunk::None) {
    start_write(&out_, chunk);
  } else if (!start_half_close()) {
    on_write_done(true);
  }
}

void Stream::on_write_done(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    out_.Clear();
    if (!ok) ending_ = true;
  }
  write();
  finish_if_idle();
}

void Stream::on_read_done(bool ok) {
  if (!ok) {
    end(grpc::Status::OK);
    return;
  }
  std::string what;
  {
    const std::lock_guard lock(mutex_);
    what = link_->arrived(in_);
  }
  if (what.empty()) {
    start_read(&in_);
  } else {
    refuse("sent " + what);
  }
}

void Stream::refuse(const std::string& what) {
  link_->lose(peer_name() + " " + what);
  end(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, peer_name() + " " + what));
}

void Stream::end(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!ending_) status_ = status;
    ending_ = true;
  }
  finish_if_idle();
}

void Stream::close() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  write();
}

void Stream::cancel() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  if (!over_) cancel_call();
}

void Stream::finish_if_idle() {
  grpc::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (!ending_ || writing_ || finished_) return;
    finished_ = true;
    status = status_;
  }
  finish(status);
}

void Stream::on_over() {
  const std::lock_guard lock(mutex_);
  link_->lose(last_words());
  over_ = true;
  is_over_.notify_all();  // under the lock, as the stream may be destroyed once it is free
}

bool Stream::wait_until_over(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return is_over_.wait_for(lock, limit, [this] { return over_; });
}

}  // namespace regatta::comm
