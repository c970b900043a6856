// SPDX-License-Identifier: Apache-2.0
//
// One member's communicator of NCCL: made without blocking, used by one lane, closed or aborted.
// NCCL's rules that this keeps:
//   - a communicator belongs to the GPU that is current when it is made; begin() of several of one
//     process stand between one group start and end
//   - it does not block: a call may return before it has been done, and the next one has to wait
//     until the communicator's state says so
//   - no thread calls into a communicator while it is aborted: only its lane uses it, and aborts it
//     (before the first step, one thread in place of the lane)
//   - after an error, or when a peer is gone, every member aborts its own
//   - what one member captures into a CUDA graph all of them capture, and launch as often; neither
//     abort nor destroy comes back before the graphs that hold a communicator's work are gone
// Source: NCCL user guide, Creating a Communicator; Fault Tolerance; Thread Safety; Group Calls;
// Using NCCL with CUDA Graphs; NCCL 2.28.9, init.cc, commDestroySync.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/comm/nccl/nccl_calls.h"
#include "kernels/runtime/counter.h"

namespace regatta {

class NcclCommunicator {
 public:
  struct Request {
    const NcclCalls* calls = nullptr;
    std::string name;  ///< `member 1 of 4 in process 0`
    std::int64_t member = 0;
    std::int64_t members = 1;
    int device = 0;
  };

  explicit NcclCommunicator(Request request);
  /// Aborts what was not closed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  const std::string& name() const { return request_.name; }

  /// Begins to find the others. `id` is NCCL's, in bytes.
  void begin(const std::string& id);

  /// Whether all that was begun has been done. Throws: RunError(PeerLost) where others or the way
  /// to them are gone, RunError(Device) of everything else; the caller aborts the communicator
  /// then.
  bool is_settled();

  /// The calling thread is one of this communicator's GPU.
  void adopt_thread() const;

  /// Leaves in `buffer`, at every member, the sum over all. Returns when that is done.
  /// Throws: RunError(Timeout), Aborted and as is_settled(); the communicator is aborted then.
  void all_reduce(float* buffer, std::int64_t elements, cudaStream_t stream,
                  const Patience& patience);

  /// Puts the same into a stream that is captured.
  /// Throws: as is_settled(), RunError(Timeout), Aborted.
  void enqueue(float* buffer, std::int64_t elements, cudaStream_t stream, const Patience& patience);

  /// While what was captured runs, and has been awaited for so long. Throws: as enqueue().
  void look(std::int64_t waited_ns, const Patience& patience);

  /// Begins to end it together with the others.
  void begin_close() noexcept;
  /// Whether that is done; then the communicator is gone.
  bool is_closed() noexcept;

  bool is_aborted() const { return aborted_; }
  void abort() noexcept;

 private:
  void await_event(const Patience& patience);
  [[noreturn]] void fail(ncclResult_t result);
  [[noreturn]] void give_up_waiting();

  Request request_;
  ncclComm_t communicator_ = nullptr;
  cudaEvent_t done_ = nullptr;
  bool aborted_ = false;
};

}  // namespace regatta
