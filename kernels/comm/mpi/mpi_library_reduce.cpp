// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_library_reduce.h"

#include <climits>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"
#include "kernels/comm/collective/element_sums.h"

namespace regatta::comm {
namespace {

void add_bf16(void* part, void* sum, int* count, MPI_Datatype* /*type*/) {
  add_elements(ElementType::BF16, sum, part, *count);
}

/// The reduction for `element`; that of bf16 is made once and kept until MPI_Finalize.
MPI_Op sum_of(ElementType element) {
  if (element == ElementType::F32) return MPI_SUM;
  static const MPI_Op sum = [] {
    constexpr int kCommutes = 1;
    MPI_Op made = MPI_OP_NULL;
    mpi_call(MPI_Op_create(add_bf16, kCommutes, &made), "MPI_Op_create");
    return made;
  }();
  return sum;
}

}  // namespace

MpiLibraryReduce::MpiLibraryReduce(Request request) : request_(std::move(request)) {
  if (request_.elements <= INT_MAX) return;
  throw RunError(ErrorKind::Unsupported, request_.name + ": MPI reduces at most " +
                                             std::to_string(INT_MAX) + " elements at once");
}

void MpiLibraryReduce::run(const Patience& patience, MemberTraffic& traffic) {
  check(request_.communicator != MPI_COMM_NULL, "connect() comes before the first run");
  MPI_Request request = MPI_REQUEST_NULL;
  const bool is_f32 = request_.element == ElementType::F32;
  mpi_call(MPI_Iallreduce(MPI_IN_PLACE, request_.buffer, static_cast<int>(request_.elements),
                          is_f32 ? MPI_FLOAT : MPI_UINT16_T, sum_of(request_.element),
                          request_.communicator, &request),
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

}  // namespace regatta::comm
