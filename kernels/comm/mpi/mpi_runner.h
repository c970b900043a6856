// SPDX-License-Identifier: Apache-2.0
//
// Runs one member's schedule (mpi_schedule.h). Chunks to and from other processes are sent by
// MPI_Isend and MPI_Irecv; chunks from members in this process are read from their memory. No MPI
// call blocks: a loop starts the transfers that may start, tests those in progress, and backs off
// if none has completed. A wait therefore ends when the abort flag is raised or at its deadline.
// Our code allocates no memory in run(): request handles and the buffers for chunks to be added are
// allocated by the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/collective/mpi_schedule.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/wait_clock.h"

namespace regatta::comm {

/// A channel from one member to another in the same process. The counters count chunks since the
/// first run.
struct LocalChannel {
  const std::byte* buffer = nullptr;  ///< the sender's buffer
  Counter offered;
  Counter taken;
};

/// How to reach another member: its process and the tags, or channels if it is in this process.
struct MpiLink {
  int process = 0;
  int send_tag = 0;
  int receive_tag = 0;
  LocalChannel* out = nullptr;  ///< null if the other member is in another process
  LocalChannel* in = nullptr;   ///< null if the other member is in another process
};

struct MpiRunnerOptions {
  MpiComm communicator{};
  std::byte* buffer = nullptr;
  ElementType element = ElementType::F32;  ///< or bf16
  int receives_in_flight = 1;
  int sends_in_flight = 1;
  std::string name;  ///< `all_reduce 4: member 0 in process 0`
};

class MpiRunner {
 public:
  /// `links[m]` is the link to member m; there is one for every other member in the schedule.
  MpiRunner(MessageSchedule schedule, std::map<std::int64_t, MpiLink> links,
            MpiRunnerOptions options);
  /// Cancels the requests of a failed run.
  ~MpiRunner();
  MpiRunner(const MpiRunner&) = delete;
  MpiRunner& operator=(const MpiRunner&) = delete;

  /// Receives the measurements of one run.
  struct Observer {
    WaitClock* peer_waits = nullptr;  ///< counts the time until the other members have arrived
    MemberTraffic* traffic = nullptr;
  };

  /// Runs the schedule. Returns when everything is received and no send reads the buffer any more.
  /// Throws: RunError(Timeout) that names the missing member, RunError(PeerLost), Aborted.
  void run(const Patience& patience, const Observer& observer);

 private:
  struct Transfer {
    MpiLink* link = nullptr;
    std::uint64_t number = 0;   ///< index among the link's sends (or receives) in one run, from 1
    std::uint64_t per_run = 0;  ///< the link's sends (or receives) in one run
    MpiRequest request{};
  };
  class Turn;

  static bool remote(const Transfer& transfer) { return transfer.link->out == nullptr; }
  std::byte* landing(std::int64_t receive);
  std::int64_t bytes_of(std::int64_t elements) const { return elements * element_bytes_; }

  MessageSchedule schedule_;
  std::map<std::int64_t, MpiLink> links_;
  MpiRunnerOptions options_;
  std::vector<Transfer> sends_;
  std::vector<Transfer> receives_;
  std::int64_t element_bytes_;
  std::vector<std::byte> staging_;     ///< received chunks to be added
  std::int64_t staging_elements_ = 0;  ///< elements of one chunk
  std::uint64_t round_ = 0;
};

}  // namespace regatta::comm
