// SPDX-License-Identifier: Apache-2.0
//
// Send, sent and receive between processes, over Open MPI. A message goes from and to the memory
// of its values, in chunks on a communicator of its own, under the tag of its number; so it is
// found whatever comes before it. A send only begins: the courier brings it on its way, and sent
// waits until it has left. A receive waits for the first chunk, which the peer's lateness delays,
// and then takes them all.
// No MPI call blocks, so that a wait ends at the abort flag or at its deadline.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "kernels/comm/accounts.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_courier.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct MpiMessageOptions {
  std::int64_t chunk_bytes = 0;                ///< between processes of one host
  std::int64_t chunk_bytes_between_hosts = 0;  ///< both a multiple of an element's bytes
  std::int64_t limit_ns = 0;                   ///< of one wait
};

class MpiMessages {
 public:
  /// Called by all ranks together. The session outlives this.
  MpiMessages(MpiSession& session, const MpiMessageOptions& options, Accounts& accounts);

  /// A kernel of send, sent or receive.
  /// Throws: RunError(Usage) if the peer does not exist, RunError(Unsupported) if the message's
  /// number is beyond MPI's tags.
  std::unique_ptr<Kernel> build(const KernelRequest& request);

 private:
  std::int64_t chunk_bytes(int peer) const;
  void check_ends(std::int64_t message, std::int64_t peer) const;

  MpiSession& session_;
  MpiMessageOptions options_;
  Accounts& accounts_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::int64_t highest_tag_ = 0;
  std::map<std::int64_t, std::unique_ptr<Outgoing>> outgoing_;  ///< by message
  MpiCourier courier_;                                          // goes before them
};

}  // namespace regatta
