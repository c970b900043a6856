// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_session.h"

#include <algorithm>
#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_library.h"

namespace regatta::comm {

void mpi_call(int code, std::string_view call, std::source_location where) {
  if (code == 0) return;
  throw RunError(ErrorKind::PeerLost, std::string(call) + " at " + where.file_name() + ":" +
                                          std::to_string(where.line()) + ": " +
                                          mpi().error_text(code));
}

MpiSession::MpiSession() {
  bool allowed = false;
  mpi_call(mpi().init(allowed), "MPI_Init_thread");
  if (!allowed) {
    throw RunError(ErrorKind::Unsupported,
                   library_version() + " was built without MPI_THREAD_MULTIPLE");
  }
  const MpiComm world = mpi().world();
  mpi_call(mpi().return_errors(world), "MPI_Comm_set_errhandler");
  mpi_call(mpi().comm_rank(world, rank_), "MPI_Comm_rank");
  mpi_call(mpi().comm_size(world, size_), "MPI_Comm_size");
  find_hosts();
}

MpiSession::~MpiSession() {
  if (!abandoned_) mpi().finalize();
}

std::string MpiSession::broadcast(const std::string& text, int from) {
  auto size = static_cast<std::uint64_t>(text.size());
  mpi_call(mpi().bcast(&size, sizeof(size), from, mpi().world()), "MPI_Bcast");
  std::string all = text;
  all.resize(size);
  mpi_call(mpi().bcast(all.data(), static_cast<int>(size), from, mpi().world()), "MPI_Bcast");
  return all;
}

void MpiSession::barrier() { mpi_call(mpi().barrier(mpi().world()), "MPI_Barrier"); }

/// Finds each rank's host, which is identified by the lowest rank on it.
void MpiSession::find_hosts() {
  MpiComm host{};
  mpi_call(mpi().comm_split_shared(mpi().world(), rank_, host), "MPI_Comm_split_type");
  int lowest = rank_;
  mpi_call(mpi().bcast(&lowest, sizeof(lowest), 0, host), "MPI_Bcast");
  std::vector<int> names(static_cast<std::size_t>(size_));
  mpi_call(mpi().allgather(&lowest, sizeof(lowest), names.data(), mpi().world()), "MPI_Allgather");
  std::vector<int> distinct;
  for (int name : names) {
    auto found = std::find(distinct.begin(), distinct.end(), name);
    if (found == distinct.end()) found = distinct.insert(distinct.end(), name);
    hosts_.push_back(static_cast<int>(found - distinct.begin()));
  }
}

std::string MpiSession::library_version() {
  return mpi_library().table == nullptr ? "" : mpi().library_version();
}

}  // namespace regatta::comm
