// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_library_reduce.h"

#include <climits>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"

namespace regatta::comm {
MpiLibraryReduce::MpiLibraryReduce(Request request) : request_(std::move(request)) {
  if (request_.elements <= INT_MAX) return;
  throw RunError(ErrorKind::Unsupported, request_.name + ": MPI reduces at most " +
                                             std::to_string(INT_MAX) + " elements at once");
}

void MpiLibraryReduce::run(const Patience& patience, MemberTraffic& traffic) {
  check(request_.communicator != MpiComm{}, "connect() comes before the first run");
  MpiRequest request{};
  const bool is_f32 = request_.element == ElementType::F32;
  mpi_call(mpi().iallreduce(request_.buffer, static_cast<int>(request_.elements),
                            is_f32 ? MpiReduction::SumF32 : MpiReduction::SumBf16,
                            request_.communicator, request),
           "MPI_Iallreduce");
  Backoff backoff(patience);
  for (bool done = false;;) {
    mpi_call(mpi().test(request, done), "MPI_Test");
    if (done) break;
    if (!backoff.wait()) {
      throw RunError(ErrorKind::Timeout, request_.name + " waited in vain for MPI_Iallreduce");
    }
  }
  traffic += request_.counts_as;
}

}  // namespace regatta::comm
