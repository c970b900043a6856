// SPDX-License-Identifier: Apache-2.0
//
// `--all-reduce mpi` between processes: MPI_Iallreduce in place, polled until it is done. MPI has
// no bf16: its elements travel as two bytes each and are added by our own MPI_Op. The library
// reports neither the arrival of other members nor the bytes that it moves. All its time is
// therefore communication, and the bytes are those of an optimal all-reduce (collective.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/counter.h"

namespace regatta {

class MpiLibraryReduce {
 public:
  struct Request {
    const MPI_Comm& communicator;  ///< created before the first run
    void* buffer = nullptr;
    std::int64_t elements = 0;
    ElementType element = ElementType::F32;  ///< or bf16
    MemberTraffic counts_as;
    std::string name;
  };
  /// Throws: RunError(Unsupported) if MPI's `int` cannot count the elements.
  explicit MpiLibraryReduce(Request request);

  /// Runs the reduction in place. Throws: RunError(Timeout), RunError(PeerLost), Aborted.
  void run(const Patience& patience, MemberTraffic& traffic);

 private:
  Request request_;
};

}  // namespace regatta
