// SPDX-License-Identifier: Apache-2.0
//
// One collective over processes, as one of them sees it: who lives where, how members of this
// process reach the others, and which schedule each runs.
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
  /// What a node says of the collective.
  struct Request {
    std::int64_t group = 0;
    std::string algorithm;
    std::vector<std::int64_t> processes;  ///< by member
  };

  /// Throws: RunError(Usage) where a process does not exist, RunError(Unsupported) where there are
  /// more members or groups than tags.
  MpiGroup(Request request, const MpiSession& session);

  /// `all_reduce 4: member 0 in process 1`.
  std::string name(std::int64_t member) const;

  /// Whether the roots of the processes exchange by MPI's own all-reduce.
  bool by_library() const { return request_.algorithm == kMpi; }
  bool is_root(std::int64_t member) const;
  bool between_hosts() const { return between_hosts_; }

  /// What `member` does, one schedule after the other; with by_library() the roots' exchange is
  /// between the two.
  std::vector<Schedule> schedules(std::int64_t member, std::int64_t elements,
                                  std::int64_t chunk_elements) const;

  /// How `member` reaches each other member.
  std::map<std::int64_t, MpiLink> links(std::int64_t member);

  /// What the roots' exchange counts as at `member`: the bytes of a ring.
  MemberTraffic traffic_of_roots(std::int64_t member, std::int64_t elements) const;

  /// With by_library(): makes a communicator of the processes that take part, together with them.
  void connect(MPI_Comm all);
  const MPI_Comm& communicator() const { return communicator_; }

 private:
  Request request_;
  int rank_ = 0;
  bool between_hosts_ = false;
  std::vector<std::int64_t> part_of_;  ///< by member: who reduce together before anything leaves
  std::map<std::pair<std::int64_t, std::int64_t>, LocalChannel> channels_;  ///< from, to
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace regatta
