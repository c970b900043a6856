// SPDX-License-Identifier: Apache-2.0
//
// `--all-reduce mpi` between processes: MPI_Iallreduce in place, looked at until it is done. The
// library tells neither when others have arrived nor what it moves: all its time is communication,
// and it counts as what an optimal all-reduce moves (collective.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/counter.h"

namespace regatta {

class MpiLibraryReduce {
 public:
  struct Request {
    const MPI_Comm& communicator;  ///< made before the first run
    float* buffer = nullptr;
    std::int64_t elements = 0;
    MemberTraffic counts_as;
    std::string name;
  };
  /// Throws: RunError(Unsupported) for more elements than MPI counts.
  explicit MpiLibraryReduce(Request request);

  /// Throws: RunError(Timeout), RunError(PeerLost), Aborted.
  void run(const Patience& patience, MemberTraffic& traffic);

 private:
  Request request_;
};

}  // namespace regatta
