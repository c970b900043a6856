// SPDX-License-Identifier: Apache-2.0
//
// The NCCL communicator of one member of a collective. It is non-blocking, used by one lane, and in
// the end either closed or aborted. This class keeps to these rules of NCCL:
//   - a communicator belongs to the GPU that is current at its creation; all begin() calls of one
//     process are in one NCCL group
//   - a call to a non-blocking communicator may return before its work is done; the next call must
//     wait until the communicator's state is success
//   - no thread may call a communicator while another aborts it: only its lane (before the first
//     step, one other thread) calls and aborts it
//   - a registered buffer is a GPU's own memory, and is deregistered before it is freed and before
//     the communicator ends
//   - after an error, or when a peer is gone, every member aborts its own communicator
//   - all members capture the same calls into CUDA graphs and launch them equally often; abort and
//     destroy return only after the graphs that hold the communicator's work are destroyed
// Source: NCCL user guide, Creating a Communicator; User Buffer Registration; Fault Tolerance;
// Thread Safety; Group Calls; Using NCCL with CUDA Graphs; NCCL 2.28.9, init.cc, commDestroySync.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/comm/nccl/nccl_calls.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

/// One collective of all members. A reduce_scatter leaves the sum of each share at its member; an
/// all_gather leaves all shares at all members. ncclReduceScatter and ncclAllGather require shares
/// of equal sizes in the order of members, so we do not use them: a reduce_scatter is one
/// ncclReduce per member and an all_gather one ncclBroadcast per member, in a group that NCCL runs
/// as one kernel.
struct NcclExchange {
  Op op = Op::AllReduce;
  Tensor buffer;              ///< Shapes: [elements] f32 or bf16
  std::vector<Range> shares;  ///< shares[m] is member m's share; empty for all_reduce
};

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
  /// Aborts the communicator if it was not closed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  const std::string& name() const { return request_.name; }

  /// Starts to connect to the other members. `id` holds the bytes of the ncclUniqueId that all of
  /// them share.
  void begin(const std::string& id);

  /// Whether all started calls are done. After an error the caller must abort the communicator.
  /// Throws: RunError(PeerLost) if a member or the network to it is gone, RunError(Device) for
  /// every other error.
  bool is_settled();

  /// Makes this communicator's GPU the calling thread's current one.
  void adopt_thread() const;

  /// Registers the buffer with NCCL, which then reads and writes it without intermediate copies.
  /// Called when is_settled().
  /// Throws: RunError(Device).
  void register_buffer(const Tensor& buffer);
  /// Undoes register_buffer(), if that was called. Called before the buffer is freed, while no step
  /// runs.
  void deregister_buffer(const Tensor& buffer) noexcept;

  /// Performs the exchange in place and returns when it is done. Aborts the communicator on an
  /// error. Throws: like is_settled(), RunError(Timeout), Aborted.
  void run(const NcclExchange& exchange, cudaStream_t stream, const Patience& patience);

  /// Enqueues the exchange in a stream, which may be capturing. Returns when it is enqueued, before
  /// the result is ready. Throws: like is_settled(), RunError(Timeout), Aborted.
  void enqueue(const NcclExchange& exchange, cudaStream_t stream, const Patience& patience);

  /// Checks that the other members are still alive. Called while a captured step runs; `waited_ns`
  /// is the time waited so far. Throws: like is_settled(), RunError(Timeout).
  void look(std::int64_t waited_ns, const Patience& patience);

  /// Starts to close the communicator. All members must do so.
  void begin_close() noexcept;
  /// Destroys the communicator if closing is done, or aborts it on an error. Returns whether
  /// closing is done.
  bool is_closed() noexcept;

  bool is_aborted() const { return aborted_; }
  void abort() noexcept;

 private:
  ncclResult_t call(const NcclExchange& exchange, cudaStream_t stream) const;
  ncclResult_t call_by_shares(const NcclExchange& exchange, cudaStream_t stream) const;
  void await_event(const Patience& patience);
  std::string title() const;
  [[noreturn]] void fail(ncclResult_t result);
  [[noreturn]] void give_up_waiting();

  Request request_;
  ncclComm_t communicator_ = nullptr;
  Op last_ = Op::AllReduce;                     ///< the last exchange, for error messages
  std::map<const void*, void*> registrations_;  ///< by buffer
  cudaEvent_t done_ = nullptr;
  bool aborted_ = false;
};

}  // namespace regatta::comm
