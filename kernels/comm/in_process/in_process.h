// SPDX-License-Identifier: Apache-2.0
//
// Communication between places of one process: copies and collectives through shared memory. On a
// GPU a copy is a kernel in the lane's queue, and a collective of places that share the GPU is one
// kernel (queued_collective.h). Copies from another device's memory are done by a queue, through
// host memory if the devices cannot read each other's memory (KernelRequest::carrier). On the host,
// each member of a collective runs on its own thread, reads from the other members' memory (pull)
// and counts the bytes that it receives from each of them. The one kernel of a GPU sends no
// messages, so it counts the bytes that its algorithm would send.
#pragma once

#include <memory>

#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

class InProcessTransport final : public Transport {
 public:
  InProcessTransport();
  ~InProcessTransport() override;

  /// Adds kernels of copy, all_reduce, reduce_scatter and all_gather. On lanes with queues these
  /// use the device's own kernels, which must already be in the table. Called once for each
  /// device's table.
  void add_kernels(KernelTable& table) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta::comm
