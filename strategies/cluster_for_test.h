// SPDX-License-Identifier: Apache-2.0
//
// For tests: runs a placed step like several processes, each as an executor in a thread of this
// process with its own exchange. Messages travel over real gRPC connections on loopback; the
// address space is shared.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/grpc/ticket_messages.h"
#include "kernels/distribute/traffic.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

/// Binds each server to its own process, and the workers to `processes` further ones.
inline Binding servers_and_workers(int servers, int processes, std::int64_t workers) {
  return {.processes = servers + processes, .process_of = [=](const Place& place) {
            if (place.role == Role::Server) return place.stage;
            for (int p = 0; p < processes; ++p) {
              const Range range = share(workers, processes, p);
              if (place.replica >= range.begin && place.replica < range.end) return servers + p;
            }
            return -1;
          }};
}

/// The device on which a process of the cluster computes.
struct ClusterDevice {
  std::unique_ptr<Device> device;  ///< null: the CPU
  void (*add_kernels)(KernelTable&) = add_cpu_kernels;
};
using DeviceOfProcess = std::function<ClusterDevice(int process)>;

class Cluster {
 public:
  Cluster(const Step& step, const DataSet& data, const TrialOptions& run, const Binding& binding,
          const DeviceOfProcess& device_of = {}) {
    const Step placed =
        strategies::apply(strategies::find_strategies(run.strategy), step, run.options);
    examples_ = run.steps * step.global_batch;
    std::vector<std::string> addresses;
    for (const Step& part : strategies::partitioned(placed, binding)) {
      const int process = part.partition.process;
      Process& added = *processes_.emplace_back(std::make_unique<Process>());
      added.part = part;
      if (device_of) added.computes_on = device_of(process);
      added.exchange = std::make_unique<comm::GrpcExchange>(comm::ExchangeOptions{
          .run = {.run_id = std::string(32, '7'), .token = std::string(64, 'c')},
          .process = process,
          .processes = binding.processes});
      for (int peer = 0; peer < process; ++peer) {
        if (talks_to(part, peer))
          added.exchange->connect(peer, addresses[static_cast<std::size_t>(peer)]);
      }
      addresses.push_back(added.exchange->serve());
      added.build(data, run, examples_);
    }
  }

  /// Runs to the end. Throws: the error of the first process that failed.
  void run() { run_to(examples_); }
  /// Runs, but ignores the error of process `lost`.
  void run_without(int lost) { run_to(examples_, lost); }

  /// Runs until each process has seen `examples` examples.
  void run_to(std::int64_t examples, int lost = -1) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> errors(processes_.size());
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      threads.emplace_back([&, p] {
        try {
          processes_[p]->executor->run(examples);
        } catch (...) {
          errors[p] = std::current_exception();
          tell_others(static_cast<int>(p));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t p = 0; p < errors.size(); ++p) {
      if (errors[p] != nullptr && static_cast<int>(p) != lost) std::rethrow_exception(errors[p]);
    }
  }

  Executor& executor(int process) {
    return *processes_[static_cast<std::size_t>(process)]->executor;
  }
  comm::GrpcExchange& exchange(int process) {
    return *processes_[static_cast<std::size_t>(process)]->exchange;
  }
  /// Reports to `process` that `lost` is gone.
  void lose(int process, int lost, const std::string& reason) {
    exchange(process).lose(lost, reason);
    processes_[static_cast<std::size_t>(process)]->tickets->lose(lost, reason);
  }
  TrafficByPlace counted() const {
    TrafficByPlace all;
    for (const auto& process : processes_) add(all, process->exchange->traffic());
    return all;
  }
  const Step& part(int process) const {
    return processes_[static_cast<std::size_t>(process)]->part;
  }

  /// Losses by step, summed over the processes. Only for synchronous runs.
  std::vector<float> losses() const {
    std::vector<float> sums;
    for (const auto& process : processes_) {
      for (const LoopReport& loop : process->executor->loops()) {
        sums.resize(loop.losses.size());
        for (std::size_t k = 0; k < loop.losses.size(); ++k) sums[k] += loop.losses[k];
      }
    }
    return sums;
  }

  std::map<std::string, std::vector<float>> parameters() {
    std::map<std::string, std::vector<float>> all;
    for (const auto& process : processes_) add_parameters(*process->executor, all);
    return all;
  }

 private:
  /// Reports to all others that a process has failed, as its broken streams would.
  void tell_others(int failed) {
    for (const auto& process : processes_) {
      if (process->part.partition.process == failed) continue;
      process->exchange->lose(failed, "it failed");
    }
  }

  struct Process {
    Step part;
    ClusterDevice computes_on;
    std::unique_ptr<comm::GrpcExchange> exchange;
    KernelTable kernels{"cluster"};
    comm::InProcessTransport transport;
    std::unique_ptr<comm::TicketMessages> tickets;
    std::unique_ptr<Executor> executor;

    void build(const DataSet& data, const TrialOptions& run, std::int64_t examples) {
      computes_on.add_kernels(kernels);
      transport.add_kernels(kernels);
      exchange->add_kernels(kernels);
      tickets = std::make_unique<comm::TicketMessages>(part, kernels);
      ExecutorOptions options = executor_options(data, run, examples);
      options.rules.tickets = tickets.get();
      if (run.watch != nullptr) run.watch->attach(kernels);
      Device& device = computes_on.device == nullptr ? cpu_device() : *computes_on.device;
      executor = std::make_unique<Executor>(part, PlacedDevices(kernels, device), options);
    }
  };

  static bool talks_to(const Step& part, int peer) {
    for (const Node& node : part.graph.nodes()) {
      const bool crosses = node.op == Op::Send || node.op == Op::Receive;
      if (crosses && node.attributes.integer("peer") == peer) return true;
    }
    for (const LoopPart& loop : part.partition.parts) {
      if (part.partition.loops > 1 && loop.processes.front() == peer) return true;
    }
    return false;
  }

  std::int64_t examples_ = 0;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace regatta::testing_support
