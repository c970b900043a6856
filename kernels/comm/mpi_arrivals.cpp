// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi_arrivals.h"

#include <algorithm>
#include <array>
#include <memory>

namespace regatta {

ArrivalBoard& MpiArrivals::board(std::int64_t group, std::int64_t members) {
  Entry& entry = boards_[group];
  entry.members = members;
  return entry.board;
}

/// On which collectives there are, by a hash of their numbers and members.
bool MpiArrivals::ranks_agree(MPI_Comm all) const {
  std::int64_t hash = 1;
  for (const auto& [group, entry] : boards_) {
    hash = (hash * 1'000'003 + group * 1009 + entry.members) % 1'000'000'007;
  }
  std::array<std::int64_t, 2> bounds = {hash, -hash};
  mpi_call(MPI_Allreduce(MPI_IN_PLACE, bounds.data(), static_cast<int>(bounds.size()), MPI_INT64_T,
                         MPI_MIN, all),
           "MPI_Allreduce");
  return bounds[0] == -bounds[1];
}

void MpiArrivals::connect(MPI_Comm all, const MpiSession& session) {
  using Stamp = ArrivalBoard::Stamp;
  const std::vector<int>& hosts = session.hosts();
  const bool one_host = std::count(hosts.begin(), hosts.end(), hosts[0]) == std::ssize(hosts);
  if (!one_host || !ranks_agree(all) || boards_.empty()) return;
  std::size_t stamps = 0;
  for (const auto& [group, entry] : boards_) stamps += ArrivalBoard::stamps_of(entry.members);
  const bool owner = session.rank() == 0;
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  mpi_call(MPI_Win_allocate_shared(static_cast<MPI_Aint>(owner ? stamps * sizeof(Stamp) : 0),
                                   sizeof(Stamp), MPI_INFO_NULL, all, &memory, &window),
           "MPI_Win_allocate_shared");
  MPI_Aint bytes = 0;
  int unit = 0;
  mpi_call(MPI_Win_shared_query(window, 0, &bytes, &unit, &memory), "MPI_Win_shared_query");
  auto* const first = static_cast<Stamp*>(memory);
  if (owner) std::uninitialized_value_construct_n(first, stamps);
  mpi_call(MPI_Barrier(all), "MPI_Barrier");
  std::size_t begin = 0;
  for (auto& [group, entry] : boards_) {
    const std::size_t count = ArrivalBoard::stamps_of(entry.members);
    entry.board.open({first + begin, count});
    begin += count;
  }
}

}  // namespace regatta
