// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between GPUs by NCCL: nodes of algorithm `nccl` or `ring` (nccl_settings.h) whose lane
// has a queue on a GPU. Members that live in the same processes in the same order are a clique, and
// have one communicator each, however many buckets they reduce: on one stream, in the order of
// their lane's plan, which is the same at all members; connect() sees to that. So buckets cannot
// overtake each other, which NCCL forbids. All buckets of a member need one lane for it
// (PlanOptions::inline_bytes = 0). A kernel returns when its sum is done: it looks out for its
// peers while it waits; or else it is part of a recorded step (QueuedExchange), and whoever waits
// for that looks. In a build without CUDA nccl_absent.cpp stands in for all of it. Order of use in
// every process: transport, kernels, connect(), runs. The executor whose kernels these are is
// destroyed first, then the transport, then the rendezvous.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/exchange_times.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/traffic.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct NcclCalls;

/// `2.28.9`; nothing where NCCL is not installed or too old, and then why_no_nccl() says why.
std::optional<std::string> version_of_nccl();
std::string why_no_nccl();

struct NcclTransportOptions {
  const NcclCalls* calls = nullptr;         ///< null: the library's
  std::int64_t limit_ns = 120'000'000'000;  ///< of one wait; also of the way to connect()'s end
  std::int64_t close_limit_ns = 10'000'000'000;
};

class NcclTransport {
 public:
  /// Throws: RunError(Unsupported) where NCCL is not installed.
  explicit NcclTransport(Rendezvous& rendezvous, const NcclTransportOptions& options = {});
  /// Closes communicators together with the other members; aborts them where one of them failed or
  /// did not close in time.
  ~NcclTransport();
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  /// Takes over all_reduce that NCCL computes; other nodes still go to what the table has.
  /// The transport outlives the kernels.
  void add_kernels(KernelTable& table);

  /// After the kernels are built, before the first run, together with all processes, by one thread.
  /// Reduces each bucket once, so that no step pays for what NCCL sets up then.
  /// Throws: RunError(Usage) where two members share a GPU, RunError(Unsupported) where their
  /// buckets stand in another order, RunError(Timeout) that names who did not come,
  /// RunError(PeerLost), RunError(Device), Aborted.
  void connect(const AbortFlag* abort = nullptr);

  /// What each place of this process has sent and received since the start, as a ring would; what
  /// NCCL really moves it does not tell. Not while lanes run.
  TrafficByPlace traffic() const;

  /// How long members took in their collectives. Not while lanes run.
  ExchangeTimesByPlace exchange_times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
