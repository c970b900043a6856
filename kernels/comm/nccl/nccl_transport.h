// SPDX-License-Identifier: Apache-2.0
//
// all_reduce, reduce_scatter and all_gather between GPUs by NCCL, for nodes of algorithm `nccl` or
// `ring` (nccl_settings.h) on a lane with a queue on a GPU. Collectives with members in the same
// processes in the same order form a clique; each of its members has one communicator for all
// buckets. NCCL forbids buckets to overtake each other, so a member exchanges its buckets on one
// stream, in the order of its lane's plan; connect() checks that all members have the same order.
// All buckets of a member must therefore be on one lane (PlanOptions::inline_bytes = 0). A build
// without CUDA has nccl_absent.cpp instead.
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

/// NCCL's version, as `2.28.9`; empty if NCCL is not installed or too old. why_no_nccl() then gives
/// the reason.
std::optional<std::string> version_of_nccl();
std::string why_no_nccl();

struct NcclTransportOptions {
  const NcclCalls* calls = nullptr;         ///< null: the installed library's
  std::int64_t limit_ns = 120'000'000'000;  ///< of one wait, also in connect()
  std::int64_t close_limit_ns = 10'000'000'000;
};

class NcclTransport final : public Transport {
 public:
  /// Throws: RunError(Unsupported) if NCCL is not installed.
  explicit NcclTransport(std::unique_ptr<Rendezvous> rendezvous,
                         const NcclTransportOptions& options = {});
  /// Closes the communicators together with the other members. Aborts them if one has failed or
  /// does not close within the limit.
  ~NcclTransport() override;

  /// Adds the collectives; other nodes keep the kernel that the table has. Traffic is counted as a
  /// ring's, because NCCL does not report the bytes that it moves.
  void add_kernels(KernelTable& table) override;

  /// Connects the communicators and exchanges each bucket once, because NCCL sets up its rings and
  /// trees at the first exchange and no timed step should include that.
  /// Throws: RunError(Usage) if two members share a GPU and NCCL is too old for that,
  /// RunError(Unsupported) if members reduce their buckets in different orders, RunError(Timeout)
  /// that names the missing members, RunError(PeerLost), RunError(Device), Aborted.
  void connect() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
