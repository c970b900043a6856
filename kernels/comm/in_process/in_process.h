// SPDX-License-Identifier: Apache-2.0
//
// Communication between places of one process: copies and collectives through shared memory. On a
// GPU a copy is a kernel in its queue, and a collective of places that share the GPU is one kernel
// (queued_collective.h). Queues copy from another device's memory, through host memory if the
// devices cannot reach each other's (KernelRequest::carrier). Each member runs on its own thread,
// reads from the other members' memory (pull) and counts the bytes that it received, by sender. A
// single kernel sends no messages; it counts the bytes of its algorithm.
#pragma once

#include <memory>

#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class InProcessTransport final : public Transport {
 public:
  InProcessTransport();
  ~InProcessTransport() override;

  /// Adds copy, all_reduce, reduce_scatter and all_gather. For lanes with queues they use the
  /// device's kernels, which must already be in the table. Called once for each device's table.
  void add_kernels(KernelTable& table) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
