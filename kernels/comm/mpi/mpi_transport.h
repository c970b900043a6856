// SPDX-License-Identifier: Apache-2.0
//
// Collectives and messages (mpi_messages.h) between processes, over MPI. This transport
// carries collectives that have the attribute `processes`, the MPI rank of each member, and
// messages that neither come from nor go to a server. A process may hold several members, each on
// its own lane. The tag of a collective's chunk encodes the collective, the sender and the
// receiver, so that buckets in flight do not mix; with the algorithm `mpi` each bucket has its own
// communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/process_clock.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

struct MpiTransportOptions {
  std::int64_t chunk_bytes = 512 << 10;
  /// Chunk size for collectives between hosts: small enough that Open MPI sends a chunk over TCP
  /// eagerly (btl_tcp_eager_limit, 64 KiB with headers). A larger chunk would wait for the
  /// receiver's answer, which queues behind the chunks in the other direction.
  std::int64_t chunk_bytes_between_hosts = 63 << 10;
  /// Number of chunks that MPI may receive while another chunk is added. On one host the receiver
  /// copies chunks from the sender's memory, so a second one would only evict the first from the
  /// cache.
  int receives_in_flight = 1;
  int receives_in_flight_between_hosts = 16;
  int sends_in_flight = 8;
  /// Chunk size of messages. On one host a single call copies a chunk from the sender's memory, so
  /// small chunks have no advantage.
  std::int64_t message_chunk_bytes = 1 << 30;
  std::int64_t limit_ns = 120'000'000'000;  ///< the longest wait
  ProcessClock clock = {};                  ///< for arrival times; tests may skew it
};

class MpiTransport final : public Transport {
 public:
  /// Called by all ranks together. The session must outlive the transport.
  explicit MpiTransport(MpiSession& session, const MpiTransportOptions& options = {});
  ~MpiTransport() override;

  /// Adds kernels of collectives, send, sent and receive between processes; other nodes keep the
  /// kernels that the table already has. May be called for several tables.
  void add_kernels(KernelTable& table) override;
  void connect() override;
  /// See mpi_arrivals.h.
  void settle_arrivals() override;
  std::optional<ClockFacts> clock() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta::comm
