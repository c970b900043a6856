// SPDX-License-Identifier: Apache-2.0
//
// What crosses places inside one process: copy and all_reduce, through shared memory. On a GPU a
// copy is a kernel in its queue, and the sum over places that share the GPU is one kernel for all
// of them (queued_sum.h); a copy from another device's memory is carried by queues, through
// the host's memory where they cannot reach it
// (KernelRequest::carrier). Members run on threads of their own; each reads from the other's memory
// (pull) and counts what it received, by sender, so that bytes are counted where they move; of a
// sum by one kernel, which moves them by no message, those of its algorithm are counted.
#pragma once

#include <memory>

#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class InProcessTransport final : public Transport {
 public:
  InProcessTransport();
  ~InProcessTransport() override;

  /// Adds copy and all_reduce, which use what the table has for them by now where lanes have
  /// queues; once for each device's.
  void add_kernels(KernelTable& table) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
