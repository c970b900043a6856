// SPDX-License-Identifier: Apache-2.0
//
// Runs one member's schedule (mpi_schedule.h): chunks from and to members in other processes by
// MPI_Irecv and MPI_Isend, from members in this process out of their memory. Nothing blocks inside
// MPI: the loop starts what may start, tests what is under way, and naps when nothing moved, so
// that a wait ends with the run (abort flag) or at its deadline.
// run() allocates nothing of ours: the handles of all requests and the places where chunks wait to
// be added are made with the runner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/collective/mpi_schedule.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/wait_clock.h"

namespace regatta {

/// From one member to another of the same process. Chunks are counted since the first run.
struct LocalChannel {
  const float* buffer = nullptr;  ///< the sender's
  Counter offered;
  Counter taken;
};

/// How to reach another member.
struct MpiLink {
  int process = 0;
  int send_tag = 0;
  int receive_tag = 0;
  LocalChannel* out = nullptr;  ///< where both members live in this process
  LocalChannel* in = nullptr;
};

/// What a runner works on and how.
struct MpiRunnerOptions {
  MPI_Comm communicator = MPI_COMM_NULL;
  float* buffer = nullptr;
  int receives_in_flight = 1;
  int sends_in_flight = 1;
  std::string name;  ///< `all_reduce 4: member 0 in process 0`
};

class MpiRunner {
 public:
  /// `links` by member, for every member that the schedule names.
  MpiRunner(Schedule schedule, std::map<std::int64_t, MpiLink> links, MpiRunnerOptions options);
  /// Cancels what a run that failed has left.
  ~MpiRunner();
  MpiRunner(const MpiRunner&) = delete;
  MpiRunner& operator=(const MpiRunner&) = delete;

  /// What a member tells of one run.
  struct Observer {
    WaitClock* peer_waits = nullptr;  ///< runs until others have arrived
    MemberTraffic* traffic = nullptr;
  };

  /// Returns when all is received and no send reads this buffer any more.
  /// Throws: RunError(Timeout) naming who was awaited, RunError(PeerLost), Aborted.
  void run(const Patience& patience, const Observer& observer);

 private:
  struct Transfer {
    MpiLink* link = nullptr;
    std::uint64_t number = 0;   ///< among the link's sends, or receives, of one run; from 1
    std::uint64_t per_run = 0;  ///< how many these are
    MPI_Request request = MPI_REQUEST_NULL;
  };
  class Turn;

  static bool remote(const Transfer& transfer) { return transfer.link->out == nullptr; }
  float* landing(std::int64_t receive);

  Schedule schedule_;
  std::map<std::int64_t, MpiLink> links_;
  MpiRunnerOptions options_;
  std::vector<Transfer> sends_;
  std::vector<Transfer> receives_;
  std::vector<float> staging_;         ///< chunks that wait to be added
  std::int64_t staging_elements_ = 0;  ///< of one chunk
  std::uint64_t round_ = 0;
};

}  // namespace regatta
