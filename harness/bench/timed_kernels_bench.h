// SPDX-License-Identifier: Apache-2.0
//
// A kernel table whose kernels note how long each run of theirs took: where a step's time goes, by
// node, measured inside the real executor. Two readings of the clock a kernel; of a kernel that
// puts its work into a queue, two marks in the queue, so that it is the device's time that is
// measured, and launches do not wait for each other.
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
  /// What lies around one run of a kernel in its queue; null where it has not run.
  struct Marks {
    std::unique_ptr<QueueMark> begin, end;
    bool ran = false;
  };

  /// What one node's kernel took in each step.
  struct NodeTimes {
    const Node* node = nullptr;  ///< in the executor's graph
    Op op = Op::Read;
    std::string choice;                ///< what was chosen for it; empty: nothing
    const LaneQueue* queue = nullptr;  ///< null where it does its work at once
    std::vector<std::uint64_t> ticks;  ///< without a queue
    std::vector<Marks> marks;          ///< with one
  };

  /// For kernels of `device`. `inner` outlives the kernels. At most `steps` steps are noted.
  TimedKernels(const KernelTable& inner, const std::string& device, std::int64_t steps);

  const KernelTable& table() const { return table_; }
  /// One entry a kernel built, in the order of their lane. Not while they run.
  const std::deque<NodeTimes>& nodes() const { return nodes_; }

 private:
  std::unique_ptr<Kernel> build(const KernelRequest& request);

  const KernelTable& inner_;
  std::size_t steps_;
  KernelTable table_;
  std::deque<NodeTimes> nodes_;  // kernels keep references into it
};

}  // namespace regatta
