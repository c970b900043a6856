// SPDX-License-Identifier: Apache-2.0
//
// The interface that all transports between places share: within one process, and by MPI, NCCL or
// gRPC. While lanes run, only a transport's kernels work; its functions are called while no lane
// runs, unless their comment allows any thread.
// Order of use in every process: create the transport, build the kernels, connect(), run steps. The
// executor that owns the kernels must be destroyed before the transport.
#pragma once

#include <optional>
#include <string>

#include "kernels/comm/accounts.h"
#include "kernels/comm/exchange_times.h"
#include "kernels/distribute/traffic.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Adds kernel factories for the transport's ops. For nodes that this transport does not carry
  /// they call the factory that the table had before.
  virtual void add_kernels(KernelTable& table) = 0;

  /// Connects the kernels that have been built in all processes. Called once, by all processes
  /// together, from one thread of each. Throws: RunError, Aborted.
  virtual void connect() {}

  /// Makes waits for `process`, which is lost, throw RunError(PeerLost) with `reason`. Does nothing
  /// in transports that detect a loss themselves. Threads: any.
  virtual void lose(int /*process*/, const std::string& /*reason*/) {}

  /// Computes how late members of collectives across processes arrived since the last call. Called
  /// by all processes together, between two steps of all loops. Throws: RunError(PeerLost).
  virtual void settle_arrivals() {}

  /// Returns messages and bytes of each place since the start. Not called while lanes run.
  TrafficByPlace traffic() const { return accounts_.traffic(); }

  /// Returns the times of each place's exchanges; lateness across processes is included up to the
  /// last settle_arrivals(). Not called while lanes run.
  virtual ExchangeTimesByPlace exchange_times() const { return accounts_.exchange_times(); }

  /// Returns the comparison of this process's clock with process 0's; empty if there was none.
  virtual std::optional<ClockFacts> clock() const { return {}; }

 protected:
  Accounts& accounts() { return accounts_; }

 private:
  Accounts accounts_;
};

}  // namespace regatta::comm
