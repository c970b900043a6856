// SPDX-License-Identifier: Apache-2.0
//
// The kernels for send, sent and receive nodes between processes, over MPI. A message is sent
// in chunks directly from and to the memory of its tensors. Messages have a communicator of their
// own, and a message's number is its tag, so messages may arrive in any order. A send kernel only
// starts the sends; the courier completes them, and a `sent` kernel waits until they are complete.
// A receive kernel waits for the first chunk, which counts as waiting for the peer, and then
// receives all chunks. No MPI call blocks, so a wait ends when the abort flag is raised or at its
// deadline.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "kernels/comm/accounts.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_courier.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

struct MpiMessageOptions {
  std::int64_t chunk_bytes = 0;                ///< between processes on one host
  std::int64_t chunk_bytes_between_hosts = 0;  ///< both must be multiples of an element's size
  std::int64_t limit_ns = 0;                   ///< the longest wait
};

class MpiMessages {
 public:
  /// Makes the communicator of messages. Called by all ranks together. `session` and `accounts`
  /// must outlive this object.
  MpiMessages(MpiSession& session, const MpiMessageOptions& options, Accounts& accounts);

  /// Builds the kernel for a `send`, `sent` or `receive` node. Throws: RunError(Usage) if the peer
  /// does not exist, RunError(Unsupported) if the message number exceeds the largest MPI tag
  /// (MPI_TAG_UB).
  std::unique_ptr<Kernel> build(const KernelRequest& request);

 private:
  std::int64_t chunk_bytes(int peer) const;
  void check_ends(std::int64_t message, std::int64_t peer) const;

  MpiSession& session_;
  MpiMessageOptions options_;
  Accounts& accounts_;
  MpiComm communicator_{};
  std::int64_t highest_tag_ = 0;
  std::map<std::int64_t, std::unique_ptr<Outgoing>> outgoing_;  ///< keyed by message
  MpiCourier courier_;                                          // destroyed before them
};

}  // namespace regatta::comm
