// SPDX-License-Identifier: Apache-2.0
//
// Common interface of transports between places: in one process, by MPI, NCCL or gRPC. It is called
// before the first run and while no lane runs; while lanes run, only its kernels work.
// Order of use in every process: transport, kernels, connect(), runs. The executor that owns the
// kernels is destroyed before the transport.
#pragma once

#include <optional>
#include <string>

#include "kernels/comm/accounts.h"
#include "kernels/comm/exchange_times.h"
#include "kernels/graph/traffic.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Adds kernels for the ops that it carries. Other nodes keep the factory that is already in the
  /// table.
  virtual void add_kernels(KernelTable& table) = 0;

  /// Connects the kernels that the processes have built. Called once by all processes together, by
  /// one thread. Throws: RunError, Aborted.
  virtual void connect() {}

  /// Ends waits for a lost process with RunError(PeerLost) and this reason, if the transport does
  /// not detect the loss itself. Threads: any.
  virtual void lose(int /*process*/, const std::string& /*reason*/) {}

  /// Measures how late members in other processes arrived. Called by all processes together,
  /// between two steps of all loops. Throws: RunError(PeerLost).
  virtual void settle_arrivals() {}

  /// Messages and bytes of each place since the start. Not called while lanes run, like
  /// exchange_times().
  TrafficByPlace traffic() const { return accounts_.traffic(); }

  /// Times of each place's exchanges; lateness across processes up to the last settle_arrivals().
  virtual ExchangeTimesByPlace exchange_times() const { return accounts_.exchange_times(); }

  /// This process's clock; empty if none was compared.
  virtual std::optional<ClockFacts> clock() const { return {}; }

 protected:
  Accounts& accounts() { return accounts_; }

 private:
  Accounts accounts_;
};

}  // namespace regatta
