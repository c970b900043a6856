// SPDX-License-Identifier: Apache-2.0
//
// One collective between processes, as one process sees it: the process of each member, the links
// from this process's members to the others, and the schedule that each of its members runs.
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

namespace regatta::comm {

class MpiGroup {
 public:
  /// The collective's attributes, from its node.
  struct Request {
    Op op = Op::AllReduce;
    std::int64_t group = 0;
    std::string algorithm;
    std::vector<std::int64_t> processes;  ///< processes[m] is member m's process
  };

  /// Throws: RunError(Usage) if a process does not exist, RunError(Unsupported) if the number of
  /// members or the number of the collective is too large for the fields of our tags.
  MpiGroup(Request request, const MpiSession& session);

  /// Returns a name for messages, such as `all_reduce 4: member 0 in process 1`.
  std::string name(std::int64_t member) const;

  /// Whether MPI_Iallreduce performs the exchange between the roots, one in each process.
  bool by_library() const { return request_.algorithm == kMpi; }
  bool is_root(std::int64_t member) const;
  bool between_hosts() const { return between_hosts_; }

  /// Returns the schedules that `member` runs, in order. With by_library() there are two, and the
  /// exchange between the roots comes between them.
  std::vector<MessageSchedule> schedules(std::int64_t member, std::int64_t elements,
                                         std::int64_t chunk_elements) const;

  /// Returns the links of `member`; the key is the member at the other end.
  std::map<std::int64_t, MpiLink> links(std::int64_t member);

  /// Returns the traffic to count at root `member` for one exchange between the roots by MPI, which
  /// counts as a ring.
  MemberTraffic traffic_of_roots(std::int64_t member, const TensorType& bucket) const;

  /// Creates the communicator of the roots if by_library(). Called by the processes of all members
  /// together.
  void connect(MpiComm all);
  const MpiComm& communicator() const { return communicator_; }

 private:
  Request request_;
  int rank_ = 0;
  bool between_hosts_ = false;
  std::vector<std::int64_t> part_of_;  ///< by member; members of one part reduce before they send
  std::map<std::pair<std::int64_t, std::int64_t>, LocalChannel> channels_;  ///< keyed by (from, to)
  MpiComm communicator_{};
};

}  // namespace regatta::comm
