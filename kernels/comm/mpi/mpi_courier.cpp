// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_courier.h"

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"

namespace regatta::comm {

Outgoing::~Outgoing() {
  for (MpiRequest& request : requests_) {
    if (request != MpiRequest{}) mpi().request_free(request);
  }
}

bool Outgoing::look() {
  for (; next_ < requests_.size(); ++next_) {
    bool done = false;
    mpi_call(mpi().test(requests_[next_], done), "MPI_Test");
    if (!done) return false;
  }
  next_ = 0;
  leave();
  return true;
}

void Outgoing::leave() { left_.advance_to(left_.value() + 1); }

void Outgoing::fail(const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  leave();
}

bool Outgoing::wait(std::uint64_t times, const Patience& patience) {
  if (!left_.wait_for(times, patience)) return false;
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) throw RunError(ErrorKind::PeerLost, error_);
  return true;
}

void MpiCourier::stop() {
  if (!thread_.joinable()) return;
  over_.raised = true;
  {
    const std::lock_guard lock(mutex_);
    calls_.advance_to(calls_.value() + 1);  // wakes the thread
  }
  thread_.join();
}

void MpiCourier::announce() {
  const std::lock_guard lock(mutex_);
  ++announced_;
  handed_over_.reserve(announced_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void MpiCourier::take(Outgoing& outgoing) {
  const std::lock_guard lock(mutex_);
  handed_over_.push_back(&outgoing);
  calls_.advance_to(calls_.value() + 1);
}

void MpiCourier::run() {
  const Patience patience{.abort = &over_};
  Backoff backoff(patience, Backoff::kLongestNapOfLongWaitNs);
  std::size_t before = 0;
  try {
    for (;;) {
      collect();
      if (under_way_.size() != before || !backoff.wait()) backoff.reset();
      before = under_way_.size();
      look();
    }
  } catch (const Aborted&) {
    return;  // stop() has ended the wait
  }
}

void MpiCourier::collect() {
  if (under_way_.empty()) {
    while (!calls_.wait_for(heard_ + 1, {.abort = &over_})) continue;
  }
  const std::lock_guard lock(mutex_);
  heard_ = calls_.value();
  if (under_way_.capacity() < announced_) under_way_.reserve(announced_);
  under_way_.insert(under_way_.end(), handed_over_.begin(), handed_over_.end());
  handed_over_.clear();
}

void MpiCourier::look() {
  std::erase_if(under_way_, [](Outgoing* outgoing) {
    try {
      return outgoing->look();
    } catch (const RunError& error) {
      outgoing->fail(error.what());
      return true;
    }
  });
}

}  // namespace regatta::comm
