// SPDX-License-Identifier: Apache-2.0
//
// A kernel table that measures each run of its kernels, to split a step's time by node in the real
// executor. Each kernel reads the clock twice; a kernel with a queue puts two marks into the queue,
// which measures the device's time without delaying launches.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class TimedKernels {
 public:
  /// The marks around one run of a kernel in its queue.
  struct Marks {
    std::unique_ptr<QueueMark> begin, end;
    bool ran = false;
  };

  /// The times of one node's kernel in each step.
  struct NodeTimes {
    NodeId id = -1;                   ///< in the executor's graph
    const NodeTimes* head = nullptr;  ///< of the kernel it is merged into; null: none
    Op op = Op::Read;
    std::string choice;                ///< the kernel's choice; empty: none
    const LaneQueue* queue = nullptr;  ///< null if the kernel computes in run() itself
    std::vector<std::uint64_t> ticks;  ///< without a queue
    std::vector<Marks> marks;          ///< with one
  };

  /// Wraps kernels of `device`. `inner` outlives them. Records at most `steps` steps.
  TimedKernels(const KernelTable& inner, const std::string& device, std::int64_t steps);

  const KernelTable& table() const { return table_; }
  /// One entry for each kernel, in the order of the lane. Not while kernels run.
  const std::deque<NodeTimes>& nodes() const { return nodes_; }

 private:
  std::unique_ptr<Kernel> build(const KernelRequest& request);

  const KernelTable& inner_;
  std::size_t steps_;
  KernelTable table_;
  std::deque<NodeTimes> nodes_;  // kernels keep references into it
};

}  // namespace regatta
