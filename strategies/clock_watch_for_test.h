// SPDX-License-Identifier: Apache-2.0
//
// For tests: the clocks of asynchronous workers as their kernels show them, whatever the gate says
// that is to bound them. A worker has begun step k when its first kernel of that step runs, and has
// finished it, on the server that holds a parameter (or in memory that workers share), when its
// updates of step k are applied there. What a worker begins on its own place is held against the
// first server, which leads, what it begins on a server against that one.
// The lead that is seen is never larger than the true one: others may finish while it is computed.
// Threads: kernels of any lane; the rest not while lanes run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/runtime/kernel.h"

namespace regatta::testing_support {

class ClockWatch {
 public:
  /// Whose updates sleep before they are applied, so that they come long after their gradients.
  struct Slow {
    int worker = 0;
    int server = 0;
    std::chrono::milliseconds nap{2};
  };

  explicit ClockWatch(std::optional<Slow> slow = {}) : slow_(slow) {}

  /// Watches the kernels that will be built from the table. Outlives them.
  void attach(KernelTable& table) {
    for (Op op : {Op::Input, Op::Read, Op::Sgd, Op::Adam}) {
      table.add(op, [this, op, make = table.factory(op)](const KernelRequest& request) {
        const bool updates = op == Op::Sgd || op == Op::Adam;
        auto kernel = make(request);
        return updates ? watch_update(request.node.place, std::move(kernel))
                       : watch_begin(request.node.place, std::move(kernel));
      });
    }
  }

  /// The worker goes on from a checkpoint with so many steps finished.
  void begin_at(int worker, std::int64_t steps) {
    for (Update& update : updates_) {
      if (update.worker == worker) update.finished = steps;
    }
  }

  /// Steps that any worker was ahead of the slowest when it began one, at the most.
  std::int64_t largest_lead() const { return largest_lead_; }
  /// Steps that were seen to begin, on all places.
  std::int64_t begins() const { return begins_; }

 private:
  /// An update kernel: one parameter, or a part of it, by one worker.
  struct Update {
    int worker = 0;
    int server = 0;
    std::atomic<std::int64_t> finished{0};
  };

  static int server_of(const Place& place) { return place.role == Role::Server ? place.stage : 0; }

  std::unique_ptr<Kernel> watch_begin(const Place& place, std::unique_ptr<Kernel> kernel) {
    return make_kernel([this, server = server_of(place),
                        inner = std::shared_ptr(std::move(kernel))](const StepContext& context) {
      begin(server, context.step);
      inner->run(context);
    });
  }

  std::unique_ptr<Kernel> watch_update(const Place& place, std::unique_ptr<Kernel> kernel) {
    Update& update = updates_.emplace_back();
    update.worker = place.replica;
    update.server = server_of(place);
    const bool sleeps = slow_ && slow_->worker == update.worker && slow_->server == update.server;
    return make_kernel([this, sleeps, &update,
                        inner = std::shared_ptr(std::move(kernel))](const StepContext& context) {
      if (sleeps) std::this_thread::sleep_for(slow_->nap);
      inner->run(context);
      update.finished.store(context.step + 1);
    });
  }

  void begin(int server, std::int64_t step) {
    std::int64_t slowest = step;
    for (const Update& update : updates_) {
      if (update.server == server) slowest = std::min(slowest, update.finished.load());
    }
    std::int64_t largest = largest_lead_.load();
    while (largest < step - slowest &&
           !largest_lead_.compare_exchange_weak(largest, step - slowest)) {
    }
    ++begins_;
  }

  std::optional<Slow> slow_;
  std::deque<Update> updates_;
  std::atomic<std::int64_t> largest_lead_{0};
  std::atomic<std::int64_t> begins_{0};
};

}  // namespace regatta::testing_support
