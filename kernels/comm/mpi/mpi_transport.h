// SPDX-License-Identifier: Apache-2.0
//
// all_reduce whose members live in several processes, over Open MPI: nodes with the attribute
// `processes`, a list by member of process numbers, which are MPI's ranks. A process may hold
// several members, each on a lane of its own.
// Every chunk carries a tag of its collective, sender and receiver, so that buckets in flight do
// not mix; those of `mpi` have a communicator each.
// Order of use in every process: transport, kernels, connect(), runs. The executor whose kernels
// these are is destroyed first, then the transport, then the session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/comm/exchange_times.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/process_clock.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/traffic.h"
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

class MpiTransport {
 public:
  /// Together with all ranks. The session outlives the transport.
  explicit MpiTransport(MpiSession& session, const MpiTransportOptions& options = {});
  ~MpiTransport();
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  /// Takes over all_reduce over several processes; other nodes still go to what the table has.
  /// The transport outlives the kernels.
  void add_kernels(KernelTable& table);

  /// After the kernels are built, before the first run, together with all ranks.
  void connect();

  /// What each place of this process has sent and received since the start. Not while lanes run.
  TrafficByPlace traffic() const;

  /// Finds out how late members came (mpi_arrivals.h). Together with all ranks, between two steps
  /// of all loops. Throws: RunError(PeerLost).
  void settle_arrivals();

  /// How long members waited in their collectives and how late they came, the latter as far as it
  /// was settled. Not while lanes run.
  ExchangeTimesByPlace exchange_times() const;
  /// This process's clock; empty before anything was settled. Not while lanes run.
  std::optional<ClockFacts> clock() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
