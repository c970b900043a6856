// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_library_reduce.h"

#include <climits>
#include <utility>

#include "kernels/comm/backoff.h"
#include "kernels/graph/error.h"

namespace regatta {

MpiLibraryReduce::MpiLibraryReduce(Request request) : request_(std::move(request)) {
  if (request_.elements <= INT_MAX) return;
  throw RunError(ErrorKind::Unsupported, request_.name + ": MPI reduces at most " +
                                             std::to_string(INT_MAX) + " elements at once");
}

void MpiLibraryReduce::run(const Patience& patience, MemberTraffic& traffic) {
  check(request_.communicator != MPI_COMM_NULL, "connect() comes before the first run");
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_call(MPI_Iallreduce(MPI_IN_PLACE, request_.buffer, static_cast<int>(request_.elements),
                          MPI_FLOAT, MPI_SUM, request_.communicator, &request),
           "MPI_Iallreduce");
  Backoff backoff(patience);
  for (int done = 0;;) {
    mpi_call(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) break;
    if (!backoff.wait()) {
      throw RunError(ErrorKind::Timeout, request_.name + " waited in vain for MPI_Iallreduce");
    }
  }
  traffic += request_.counts_as;
}

}  // namespace regatta
