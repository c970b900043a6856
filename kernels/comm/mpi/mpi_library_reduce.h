// SPDX-License-Identifier: Apache-2.0
//
// `--all-reduce mpi` between processes: MPI_Iallreduce in place, polled until it is done. MPI has
// no type for bf16: the elements are sent as two bytes each and added by our own MPI_Op. MPI
// reports neither when other members arrive nor the bytes that it moves. All its time therefore
// counts as communication, not as waiting, and the bytes counted are those of an optimal all-reduce
// (collective.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {

class MpiLibraryReduce {
 public:
  struct Request {
    const MpiComm& communicator;  ///< created before the first run
    void* buffer = nullptr;
    std::int64_t elements = 0;
    ElementType element = ElementType::F32;  ///< or bf16
    MemberTraffic counts_as;                 ///< the traffic to count for each run
    std::string name;
  };
  /// Throws: RunError(Unsupported) if MPI's `int` cannot count the elements.
  explicit MpiLibraryReduce(Request request);

  /// Runs the reduction in place and adds `counts_as` to `traffic`. Throws: RunError(Timeout),
  /// RunError(PeerLost), Aborted.
  void run(const Patience& patience, MemberTraffic& traffic);

 private:
  Request request_;
};

}  // namespace regatta::comm
