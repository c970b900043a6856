// SPDX-License-Identifier: Apache-2.0
//
// For tests: measures how long a worker computes, with a clock around its kernels that is
// independent of the runtime. A stretch lasts from the start of a computing kernel to the start of
// the lane's next kernel that does not compute. The time of a stretch outside kernels is delay,
// plus a small overhead that is the same without a delay. Threads: the kernels run on any lane; all
// other calls are made while no lane runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "kernels/graph/op.h"
#include "kernels/runtime/kernel_watch_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::testing_support {

class ComputeWatch final : public KernelWatch {
 public:
  explicit ComputeWatch(const Place& worker) : worker_(worker) {}

  void attach(KernelTable& table) override {
    for (int i = 0; i <= static_cast<int>(Op::Lookahead); ++i) {
      const auto op = static_cast<Op>(i);
      if (!table.has(op)) continue;
      table.add(op, [this, make = table.factory(op)](const KernelRequest& request) {
        auto kernel = make(request);
        return request.node.place == worker_ ? watch(request.node, std::move(kernel))
                                             : std::move(kernel);
      });
    }
  }

  double around_ns() const {
    return static_cast<double>(ticks_to_ns(around_));
  }  ///< sum of all
     ///< stretches
  double inside_ns() const {
    return static_cast<double>(ticks_to_ns(inside_));
  }  ///< part of it in
     ///< kernels

 private:
  static bool computes(const Node& node) {
    const bool talks = node.op == Op::Input || node.op == Op::Read || node.op == Op::Average ||
                       op_info(node.op).crosses;
    return !talks && node.phase != Phase::Update;
  }

  std::unique_ptr<Kernel> watch(const Node& node, std::unique_ptr<Kernel> kernel) {
    return make_kernel([this, counts = computes(node),
                        inner = std::shared_ptr(std::move(kernel))](const StepContext& context) {
      if (!counts) {
        end_stretch();
        inner->run(context);
        return;
      }
      lane_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      const std::uint64_t begin = ticks();
      if (stretch_begin_ == 0) stretch_begin_ = begin;
      inner->run(context);
      stretch_inside_ += ticks() - begin;
    });
  }

  /// Ends the stretch, unless called from another lane, which carries the worker's messages.
  void end_stretch() {
    const std::uint64_t now = ticks();
    if (lane_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return;
    if (stretch_begin_ == 0) return;
    around_ += now - stretch_begin_;
    inside_ += stretch_inside_;
    stretch_begin_ = stretch_inside_ = 0;
  }

  Place worker_;
  std::atomic<std::thread::id> lane_;
  std::uint64_t stretch_begin_ = 0;
  std::uint64_t stretch_inside_ = 0;
  std::uint64_t around_ = 0;
  std::uint64_t inside_ = 0;
};

}  // namespace regatta::testing_support
