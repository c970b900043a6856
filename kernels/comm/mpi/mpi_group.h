// SPDX-License-Identifier: Apache-2.0
//
// One collective between processes, seen from one of them: the process of each member, the links
// from members in this process to the others, and the schedule that each runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/comm/collective/mpi_schedule.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_runner.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

class MpiGroup {
 public:
  /// The collective's attributes, from its node.
  struct Request {
    Op op = Op::AllReduce;
    std::int64_t group = 0;
    std::string algorithm;
    std::int64_t columns = 0;             ///< of a torus; 0: the grid nearest to a square
    std::vector<std::int64_t> processes;  ///< by member
  };

  /// Throws: RunError(Usage) if a process does not exist, RunError(Unsupported) if there are more
  /// members or groups than tags.
  MpiGroup(Request request, const MpiSession& session);

  /// `all_reduce 4: member 0 in process 1`.
  std::string name(std::int64_t member) const;

  /// Whether the roots of the processes exchange by MPI's own all-reduce.
  bool by_library() const { return request_.algorithm == kMpi; }
  bool is_root(std::int64_t member) const;
  bool between_hosts() const { return between_hosts_; }

  /// The schedules that `member` runs, in order. With by_library() there are two, and the roots'
  /// exchange comes between them.
  std::vector<MessageSchedule> schedules(std::int64_t member, std::int64_t elements,
                                         std::int64_t chunk_elements) const;

  /// The links of `member`, by other member.
  std::map<std::int64_t, MpiLink> links(std::int64_t member);

  /// The traffic counted at root `member` for the exchange between roots: that of a ring.
  MemberTraffic traffic_of_roots(std::int64_t member, const TensorType& bucket) const;

  /// With by_library(): creates the communicator of the roots. Called by their processes together.
  void connect(MPI_Comm all);
  const MPI_Comm& communicator() const { return communicator_; }

 private:
  Request request_;
  int rank_ = 0;
  bool between_hosts_ = false;
  std::vector<std::int64_t> part_of_;  ///< by member; members of one part reduce before they send
  std::map<std::pair<std::int64_t, std::int64_t>, LocalChannel> channels_;  ///< by (from, to)
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace regatta
