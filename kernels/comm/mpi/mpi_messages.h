// SPDX-License-Identifier: Apache-2.0
//
// Send, sent and receive between processes, over Open MPI. A message travels in chunks from and to
// the memory of its tensors, on a separate communicator with its number as tag, so it is matched
// whatever arrives before it. A send only begins; the courier completes it, and sent waits for
// that. A receive waits for the first chunk, which a late peer delays, and then takes all.
// No MPI call blocks, so a wait ends at the abort flag or at its deadline.
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
  std::int64_t chunk_bytes_between_hosts = 0;  ///< both are multiples of an element's bytes
  std::int64_t limit_ns = 0;                   ///< of one wait
};

class MpiMessages {
 public:
  /// Called by all ranks together. The session outlives this object.
  MpiMessages(MpiSession& session, const MpiMessageOptions& options, Accounts& accounts);

  /// Makes a kernel of send, sent or receive. Throws: RunError(Usage) if the peer does not exist,
  /// RunError(Unsupported) if the message's number is beyond MPI's tags.
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
  MpiCourier courier_;                                          // destroyed before them
};

}  // namespace regatta
