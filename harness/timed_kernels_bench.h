// SPDX-License-Identifier: Apache-2.0
//
// A kernel table whose kernels note how long each run of theirs took: where a step's time goes, by
// node, measured inside the real executor. Two readings of the clock a kernel.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta {

class TimedKernels {
 public:
  /// What one node's kernel took in each step. Units: ticks.
  struct NodeTimes {
    Op op = Op::Read;
    std::vector<std::uint64_t> ticks;
  };

  /// `inner` outlives the kernels. At most `steps` steps are noted.
  TimedKernels(const KernelTable& inner, std::int64_t steps);

  const KernelTable& table() const { return table_; }
  /// One entry a kernel built. Not while they run.
  const std::deque<NodeTimes>& nodes() const { return nodes_; }

 private:
  std::unique_ptr<Kernel> build(const KernelRequest& request);

  const KernelTable& inner_;
  std::size_t steps_;
  KernelTable table_;
  std::deque<NodeTimes> nodes_;  // kernels keep references into it
};

}  // namespace regatta
