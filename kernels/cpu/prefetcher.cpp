// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/prefetcher.h"

#include <chrono>
#include <utility>

#include "kernels/runtime/counter.h"

namespace regatta::cpu {
namespace {

/// The interval at which a wait checks the abort flag.
constexpr std::chrono::milliseconds kGlance{50};

}  // namespace

Prefetcher::Prefetcher(Fill fill) : fill_(std::move(fill)), thread_([this] { work(); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::take(std::int64_t step, const AbortFlag* abort,
                      const std::function<void(std::size_t)>& use) {
  std::unique_lock lock(mutex_);
  if (step != wanted_) {
    wanted_ = step;
    ready_ = step;
    changed_.notify_all();
  }
  while (!changed_.wait_for(lock, kGlance, [&] { return ready_ > step; })) {
    if (abort != nullptr && abort->raised.load(std::memory_order_relaxed)) throw Aborted();
  }
  // While one buffer is in use, the thread may fill only the other one.
  lock.unlock();
  use(buffer_of(step));
  lock.lock();
  wanted_ = step + 1;
  lock.unlock();
  changed_.notify_all();
}

void Prefetcher::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return quit_ || ready_ < wanted_ + kBuffers; });
    if (quit_) return;
    const std::int64_t step = ready_;
    lock.unlock();
    fill_(step, buffer_of(step));
    lock.lock();
    // If take() has requested another step meanwhile, the prepared batch is not used.
    if (ready_ == step) ++ready_;
    changed_.notify_all();
  }
}

}  // namespace regatta::cpu
