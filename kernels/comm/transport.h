// SPDX-License-Identifier: Apache-2.0
//
// What every way across places has in common: in one process, by MPI, NCCL or gRPC. It is asked
// before the first run and when lanes rest; while they run, kernels work alone.
// Order of use in every process: transport, kernels, connect(), runs. The executor whose kernels
// these are is destroyed before the transport.
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

  /// Adds kernels of the ops that it carries. Nodes that it does not carry still go to what the
  /// table has for them by now.
  virtual void add_kernels(KernelTable& table) = 0;

  /// Joins what the processes have built, together with all of them. Once, by one thread.
  /// Throws: RunError, Aborted.
  virtual void connect() {}

  /// Another process is gone: waits for it end with RunError(PeerLost) and this reason, where the
  /// transport does not find out by itself. Threads: any.
  virtual void lose(int /*process*/, const std::string& /*reason*/) {}

  /// Finds out how late members in other processes came, together with all processes, between two
  /// steps of all loops. Throws: RunError(PeerLost).
  virtual void settle_arrivals() {}

  /// What each place has sent and received since the start. Not while lanes run, as below.
  TrafficByPlace traffic() const { return accounts_.traffic(); }

  /// When each place came to its exchanges, and what they took; lateness over processes as far as
  /// it was settled.
  virtual ExchangeTimesByPlace exchange_times() const { return accounts_.exchange_times(); }

  /// This process's clock; empty where none was compared.
  virtual std::optional<ClockFacts> clock() const { return {}; }

 protected:
  Accounts& accounts() { return accounts_; }

 private:
  Accounts accounts_;
};

}  // namespace regatta
