// SPDX-License-Identifier: Apache-2.0
//
// A kernel table that measures each run of its kernels, so that the time of a step in the real
// executor can be split by node. A kernel without a queue reads the clock before and after it runs;
// a kernel with a queue puts two marks (events) into the queue, which measure the device's time
// without delaying launches.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta::run {

class TimedKernels {
 public:
  /// The marks around one run of a kernel in its queue.
  struct Marks {
    std::unique_ptr<QueueMark> begin, end;
    bool ran = false;
  };

  /// The times of one node's kernel in each step.
  struct NodeTimes {
    NodeId id = -1;                   ///< id of the node in the executor's graph
    const NodeTimes* head = nullptr;  ///< entry of the kernel it was merged into; null: none
    Op op = Op::Read;
    std::string choice;                ///< the kernel's algorithm or engine; empty: no choice
    const LaneQueue* queue = nullptr;  ///< null if the kernel computes in run() itself
    std::vector<std::uint64_t> ticks;  ///< duration in each step; empty with a queue
    std::vector<Marks> marks;          ///< in each step; empty without a queue
  };

  /// Wraps the kernels of `inner`, which must outlive this object, as a table for `device`. Records
  /// the first `steps` steps.
  TimedKernels(const KernelTable& inner, const std::string& device, std::int64_t steps);

  const KernelTable& table() const { return table_; }
  /// One entry for each kernel, in the order in which the executor built them. Must not be called
  /// while kernels run.
  const std::deque<NodeTimes>& nodes() const { return nodes_; }

 private:
  std::unique_ptr<Kernel> build(const KernelRequest& request);

  const KernelTable& inner_;
  std::size_t steps_;
  KernelTable table_;
  std::deque<NodeTimes> nodes_;  // kernels keep references into it
};

}  // namespace regatta::run
