// SPDX-License-Identifier: Apache-2.0
//
// all_reduce whose members live in several processes, over Open MPI: nodes with the attribute
// `processes`, a list by member of process numbers, which are MPI's ranks. A process may hold
// several members, each on a lane of its own.
// Every chunk carries a tag of its collective, sender and receiver, so that buckets in flight do
// not mix; those of `mpi` have a communicator each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/process_clock.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct MpiTransportOptions {
  std::int64_t chunk_bytes = 512 << 10;
  /// Of collectives over several hosts: within what Open MPI sends over TCP without asking the
  /// receiver first (btl_tcp_eager_limit, 64 KiB with its headers). A larger chunk would wait for
  /// an answer that stands behind the chunks which travel the other way.
  std::int64_t chunk_bytes_between_hosts = 63 << 10;
  /// Chunks that MPI may write while another is added. On one host the receiver itself copies
  /// them out of the sender's memory: more than one would only leave the cache again.
  int receives_in_flight = 1;
  int receives_in_flight_between_hosts = 16;
  int sends_in_flight = 8;
  std::int64_t limit_ns = 120'000'000'000;  ///< of one wait
  ProcessClock clock = {};                  ///< of this process
};

class MpiTransport final : public Transport {
 public:
  /// Together with all ranks. The session outlives the transport.
  explicit MpiTransport(MpiSession& session, const MpiTransportOptions& options = {});
  ~MpiTransport() override;

  /// Takes over all_reduce over several processes.
  void add_kernels(KernelTable& table) override;
  void connect() override;
  /// mpi_arrivals.h.
  void settle_arrivals() override;
  std::optional<ClockFacts> clock() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
