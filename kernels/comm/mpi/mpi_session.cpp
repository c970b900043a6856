// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_session.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_call.h"

namespace regatta::comm {

void mpi_call(int code, std::string_view call, std::source_location where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(code, words.data(), &length);
  throw RunError(ErrorKind::PeerLost,
                 std::string(call) + " at " + where.file_name() + ":" +
                     std::to_string(where.line()) + ": " +
                     std::string(words.data(), static_cast<std::size_t>(length)));
}

MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  mpi_call(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_MULTIPLE) {
    throw RunError(ErrorKind::Unsupported,
                   library_version() + " was built without MPI_THREAD_MULTIPLE");
  }
  mpi_call(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  mpi_call(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  mpi_call(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  find_hosts();
}

MpiSession::~MpiSession() {
  if (!abandoned_) MPI_Finalize();
}

std::string MpiSession::broadcast(const std::string& text, int from) {
  auto size = static_cast<std::uint64_t>(text.size());
  mpi_call(MPI_Bcast(&size, 1, MPI_UINT64_T, from, MPI_COMM_WORLD), "MPI_Bcast");
  std::string all = text;
  all.resize(size);
  mpi_call(MPI_Bcast(all.data(), static_cast<int>(size), MPI_CHAR, from, MPI_COMM_WORLD),
           "MPI_Bcast");
  return all;
}

void MpiSession::barrier() { mpi_call(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

/// Finds each rank's host, which is identified by the lowest rank on it.
void MpiSession::find_hosts() {
  MPI_Comm host = MPI_COMM_NULL;
  mpi_call(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
           "MPI_Comm_split_type");
  int lowest = rank_;
  mpi_call(MPI_Bcast(&lowest, 1, MPI_INT, 0, host), "MPI_Bcast");
  mpi_call(MPI_Comm_free(&host), "MPI_Comm_free");
  std::vector<int> names(static_cast<std::size_t>(size_));
  mpi_call(MPI_Allgather(&lowest, 1, MPI_INT, names.data(), 1, MPI_INT, MPI_COMM_WORLD),
           "MPI_Allgather");
  std::vector<int> distinct;
  for (int name : names) {
    auto found = std::find(distinct.begin(), distinct.end(), name);
    if (found == distinct.end()) found = distinct.insert(distinct.end(), name);
    hosts_.push_back(static_cast<int>(found - distinct.begin()));
  }
}

std::string MpiSession::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi_call(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace regatta::comm
