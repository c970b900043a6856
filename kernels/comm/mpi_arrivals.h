// SPDX-License-Identifier: Apache-2.0
//
// Boards of arrivals that ranks of one host share: memory of rank 0 that MPI maps into all of them.
// Ranks on several hosts have none, as their clocks are not one; nor have ranks whose collectives
// differ.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/comm/collective_times.h"
#include "kernels/comm/mpi_call.h"
#include "kernels/comm/mpi_session.h"

namespace regatta {

class MpiArrivals {
 public:
  /// Of a collective; closed until connect(). The board stays where it is. Before connect().
  ArrivalBoard& board(std::int64_t group, std::int64_t members);

  /// Together with all ranks, once. The memory stays until MPI_Finalize: to free it would wait for
  /// ranks that may be gone. Throws: RunError(PeerLost).
  void connect(MPI_Comm all, const MpiSession& session);

 private:
  struct Entry {
    std::int64_t members = 0;
    ArrivalBoard board;
  };
  bool ranks_agree(MPI_Comm all) const;

  std::map<std::int64_t, Entry> boards_;  ///< by group
};

}  // namespace regatta
