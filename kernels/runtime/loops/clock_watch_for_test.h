// SPDX-License-Identifier: Apache-2.0
//
// For tests: measures the lead of asynchronous workers from their kernels, independently of the
// gate that bounds it. A worker begins step k when its first kernel of that step runs. It finishes
// step k on a server (or in shared memory) when its updates of step k are applied there. When a
// worker begins a step at its own place, its lead is measured at the first server, which leads;
// when it begins a step on a server, at that server. The measured lead never exceeds the true one,
// because other workers may finish meanwhile. Threads: the kernels run on any lane; all other calls
// are made while no lane runs.
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

#include "kernels/runtime/kernel_watch_for_test.h"

namespace regatta::testing_support {

class ClockWatch final : public KernelWatch {
 public:
  /// A worker with updates on one server that come long after their gradients.
  struct Slow {
    int worker = 0;
    int server = 0;
    std::chrono::milliseconds nap{2};
  };

  explicit ClockWatch(std::optional<Slow> slow = {}) : slow_(slow) {}

  void attach(KernelTable& table) override {
    for (Op op : {Op::Input, Op::Read, Op::Sgd, Op::Adam}) {
      table.add(op, [this, op, make = table.factory(op)](const KernelRequest& request) {
        const bool updates = op == Op::Sgd || op == Op::Adam;
        auto kernel = make(request);
        return updates ? watch_update(request.node.place, std::move(kernel))
                       : watch_begin(request.node.place, std::move(kernel));
      });
    }
  }

  /// Makes the worker continue at `steps` steps, as from a checkpoint.
  void begin_at(int worker, std::int64_t steps) {
    for (Update& update : updates_) {
      if (update.worker == worker) update.finished = steps;
    }
  }

  /// The largest lead of a worker over the slowest one at the beginning of a step. Units: steps.
  std::int64_t largest_lead() const { return largest_lead_; }
  /// The number of steps begun, summed over all places.
  std::int64_t begins() const { return begins_; }

 private:
  /// An update kernel: one worker's update of a parameter or of a part of it.
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
