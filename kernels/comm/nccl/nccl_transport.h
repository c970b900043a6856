// SPDX-License-Identifier: Apache-2.0
//
// all_reduce, reduce_scatter and all_gather between GPUs by NCCL, for nodes with the algorithm
// `nccl` or `ring` (nccl_settings.h) on a lane whose queue is a GPU's stream. A clique is a group
// of members that share a communicator: all collectives whose members are in the same processes in
// the same order belong to one clique. NCCL requires that all members exchange their buckets in the
// same order. A member therefore exchanges its buckets on one stream, in the order of its lane's
// plan, and connect() checks that all members have the same order. For this, all buckets of a
// member must be on one lane (PlanOptions::inline_bytes = 0). A build without CUDA has
// nccl_absent.cpp instead.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

/// Returns NCCL's version, such as `2.28.9`; empty if NCCL is not installed or too old. Then
/// why_no_nccl() returns the reason.
std::optional<std::string> version_of_nccl();
std::string why_no_nccl();

class NcclTransport final : public Transport {
 public:
  /// Throws: RunError(Unsupported) if NCCL is not installed.
  explicit NcclTransport(std::unique_ptr<Rendezvous> rendezvous);
  /// Closes the communicators together with the other members. Aborts all communicators if one has
  /// failed or does not close within 10 s.
  ~NcclTransport() override;

  /// Adds kernels of the collectives; other nodes keep the kernels that the table already has.
  /// Counts traffic as if NCCL used a ring, because NCCL does not report the bytes that it moves.
  void add_kernels(KernelTable& table) override;

  /// Connects the communicators and exchanges each bucket once: NCCL sets up its rings and trees at
  /// the first exchange, and no timed step should include that.
  /// Throws: RunError(Usage) if two members share a GPU and NCCL is too old for that,
  /// RunError(Unsupported) if members reduce their buckets in different orders, RunError(Timeout)
  /// that names the missing members, RunError(PeerLost), RunError(Device), Aborted.
  void connect() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta::comm
