// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between GPUs by NCCL: nodes of algorithm `nccl` or `ring` (nccl_settings.h) whose lane
// has a queue on a GPU. Members that live in the same processes in the same order are a clique, and
// have one communicator each, however many buckets they reduce: on one stream, in the order of
// their lane's plan, which is the same at all members; connect() sees to that. So buckets cannot
// overtake each other, which NCCL forbids. All buckets of a member need one lane for it
// (PlanOptions::inline_bytes = 0). A kernel returns when its sum is done: it looks out for its
// peers while it waits; or else it is part of a recorded step (QueuedExchange), and whoever waits
// for that looks. In a build without CUDA nccl_absent.cpp stands in for all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/transport.h"
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

class NcclTransport final : public Transport {
 public:
  /// Throws: RunError(Unsupported) where NCCL is not installed.
  explicit NcclTransport(std::unique_ptr<Rendezvous> rendezvous,
                         const NcclTransportOptions& options = {});
  /// Closes communicators together with the other members; aborts them where one of them failed or
  /// did not close in time.
  ~NcclTransport() override;

  /// Takes over all_reduce that NCCL computes. What it counts is what a ring would send; what NCCL
  /// really moves it does not tell.
  void add_kernels(KernelTable& table) override;

  /// Reduces each bucket once, so that no step pays for what NCCL sets up then.
  /// Throws: RunError(Usage) where two members share a GPU, RunError(Unsupported) where their
  /// buckets stand in another order, RunError(Timeout) that names who did not come,
  /// RunError(PeerLost), RunError(Device), Aborted.
  void connect() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
