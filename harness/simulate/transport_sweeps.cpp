// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/transport_sweeps.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "harness/system/run_id.h"
#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::simulate {
namespace {

constexpr auto kSizes = kSweepBytes;
constexpr int kWarmUp = 5;
constexpr std::chrono::milliseconds kLate{1};
constexpr int kCallsOfRanks = 25;
constexpr int kSpins = kSweepSpins;

int calls_of(std::int64_t bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(100'000'000 / bytes, 25, 100));
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The processor time of all threads of this process, so that other programs do not count.
std::int64_t process_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

/// A thread that computes on the only core of this process.
class ComputingThread {
 public:
  ComputingThread()
      : memory_(kFloats), thread_([this](const std::stop_token& stop) { run(stop); }) {
    std::this_thread::sleep_for(kAlone / 4);
    const std::int64_t begin = process_ns(), passes = passes_;
    std::this_thread::sleep_for(kAlone);
    ns_a_pass_ = static_cast<double>(process_ns() - begin) / static_cast<double>(passes_ - passes);
  }

  /// Returns the processor time of `work`, and the time by which it slows the thread down.
  template <typename Work>
  double lost_ns(Work&& work) const {
    const std::int64_t begin = process_ns(), passes = passes_;
    work();
    return static_cast<double>(process_ns() - begin) -
           static_cast<double>(passes_ - passes) * ns_a_pass_;
  }

 private:
  static constexpr std::size_t kFloats = 1 << 16;  // fit into a level-2 cache, like a kernel's tile
  static constexpr std::chrono::milliseconds kAlone{40};

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (float& each : memory_) each = 0.5F * each + 1;
      ++passes_;
    }
  }

  std::vector<float> memory_;
  std::atomic<std::int64_t> passes_ = 0;
  double ns_a_pass_ = 0;
  std::jthread thread_;
};

/// Builds a message from or to the node's process `peer`.
std::unique_ptr<Kernel> message_kernel(const KernelTable& table, Node& node, const Tensor& tensor) {
  KernelRequest request{.node = node};
  (node.op == Op::Send ? request.inputs : request.outputs) = {&tensor, 1};
  return table.build(request);
}

/// One end of a pair of exchanges with a message each way.
struct GrpcEnd {
  GrpcEnd(const comm::RunIdentity& run, int process, const std::string& listen)
      : exchange({.run = run, .process = process, .processes = 2, .listen = listen}) {
    exchange.add_kernels(table);
  }
  void build(int own, std::int64_t bytes) {
    memory.resize(static_cast<std::size_t>(bytes / 4));
    tensor = {.type = {ElementType::F32, {bytes / 4}}, .data = memory.data()};
    out = {.op = Op::Send, .attributes = {{"message", std::int64_t{own}}, {"peer", 1L - own}}};
    in = {.op = Op::Receive, .attributes = {{"message", 1L - own}, {"peer", 1L - own}}};
    send = message_kernel(table, out, tensor);
    receive = message_kernel(table, in, tensor);
  }

  comm::GrpcExchange exchange;
  KernelTable table{"cpu"};
  std::vector<float> memory;
  Tensor tensor;
  Node out, in;
  LaneCounters counters;
  std::unique_ptr<Kernel> send, receive;
};

/// Runs the other end of measure_one_way().
void answer(GrpcEnd& end, int calls) {
  for (std::int64_t step = 0; step < kWarmUp + calls; ++step) {
    const StepContext context{.step = step, .counters = &end.counters};
    end.receive->run(context);
    end.send->run(context);
  }
}

/// Measures half of a round trip.
void measure_one_way(GrpcEnd& end, std::int64_t bytes, GrpcSweeps& sweeps) {
  std::vector<double> rounds, sends;
  for (std::int64_t step = 0; step < kWarmUp + calls_of(bytes); ++step) {
    const StepContext context{.step = step, .counters = &end.counters};
    const std::int64_t begin = now_ns();
    end.send->run(context);
    const std::int64_t sent = now_ns();
    end.receive->run(context);
    if (step < kWarmUp) continue;
    rounds.push_back(static_cast<double>(now_ns() - begin) / 2);
    sends.push_back(static_cast<double>(sent - begin));
  }
  sweeps.one_way.push_back({.bytes = bytes, .ns = middle_of(rounds)});
  sweeps.sending.push_back({.bytes = bytes, .ns = middle_of(sends)});
}

/// Measures half of the core time that a round trip takes from a thread beside it.
void measure_core_time(GrpcEnd& end, std::int64_t bytes, GrpcSweeps& sweeps) {
  const ComputingThread beside;
  const int calls = calls_of(bytes);
  const double lost = beside.lost_ns([&] {
    for (std::int64_t step = 0; step < kWarmUp + calls; ++step) {
      const StepContext context{.step = step, .counters = &end.counters};
      end.send->run(context);
      end.receive->run(context);
    }
  });
  sweeps.one_way.push_back({.bytes = bytes, .ns = lost / 2 / (kWarmUp + calls)});
}

comm::RunIdentity new_identity() {
  return {.run_id = system::random_hexadecimal(16), .token = system::random_hexadecimal(32)};
}

}  // namespace

Sweep sweep_in_process(Op op) {
  Sweep sweep;
  for (const std::int64_t bytes : kSizes) {
    comm::AllReduceGroup group({.op = op, .algorithm = "ring", .members = 2});
    std::vector<std::vector<float>> buffers(
        2, std::vector<float>(static_cast<std::size_t>(bytes / 4)));
    for (int m = 0; m < 2; ++m) {
      group.join(m, buffers[static_cast<std::size_t>(m)].data(), bytes / 4);
    }
    const int calls = calls_of(bytes);
    std::vector<double> spans;
    AbortFlag abort;
    const auto run = [&](int member) {
      WaitClock waits;
      const comm::AllReduceGroup::Observer observer{.peer_waits = &waits,
                                                    .received = [](std::int64_t, std::int64_t) {}};
      for (int call = 0; call < kWarmUp + calls; ++call) {
        const std::int64_t begin = now_ns();
        group.run(member, {.abort = &abort, .spins = kSpins}, observer);
        if (member == 0 && call >= kWarmUp) {
          spans.push_back(static_cast<double>(now_ns() - begin));
        }
      }
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    sweep.push_back({.bytes = bytes, .ns = middle_of(spans)});
  }
  return sweep;
}

GrpcSweeps sweep_grpc(const std::string& listen) {
  GrpcSweeps sweeps;
  for (const std::int64_t bytes : kSizes) {
    const comm::RunIdentity run = new_identity();
    GrpcEnd server(run, 0, listen);
    GrpcEnd worker(run, 1, listen);
    worker.exchange.connect(0, server.exchange.serve());
    server.build(0, bytes);
    worker.build(1, bytes);
    std::thread answers([&] { answer(server, calls_of(bytes)); });
    measure_one_way(worker, bytes, sweeps);
    answers.join();
  }
  return sweeps;
}

bool has_one_core() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
}

Sweep sweep_ranks(comm::MpiSession& session, const std::string& algorithm, Ranks ranks) {
  Sweep sweep;
  for (const std::int64_t bytes : kSizes) {
    comm::MpiTransport transport(session);
    KernelTable table("cpu");
    transport.add_kernels(table);
    std::vector<float> buffer(static_cast<std::size_t>(bytes / 4));
    const Tensor tensor{.type = {ElementType::F32, {bytes / 4}}, .data = buffer.data()};
    std::vector<std::int64_t> processes(static_cast<std::size_t>(session.size()));
    std::iota(processes.begin(), processes.end(), 0);
    Node node;
    node.op = Op::AllReduce;
    node.member = session.rank();
    node.attributes = {{"group", std::int64_t{0}},
                       {"members", std::int64_t{session.size()}},
                       {"algorithm", algorithm},
                       {"processes", processes}};
    LaneCounters counters;
    const std::unique_ptr<Kernel> kernel =
        table.build({.node = node,
                     .inputs = {&tensor, 1},
                     .outputs = {&tensor, 1},
                     .variables = {},
                     .versions_seen = {},
                     .spins = ranks == Ranks::InTime ? kSpins : 0});
    transport.connect();
    const StepContext context{.counters = &counters};
    if (ranks == Ranks::BesideComputing) {
      const ComputingThread beside;
      session.barrier();
      const int calls = calls_of(bytes);
      const double lost = beside.lost_ns([&] {
        for (int call = 0; call < calls; ++call) kernel->run(context);
      });
      sweep.push_back({.bytes = bytes, .ns = lost / calls});
      continue;
    }
    std::vector<double> spans;
    for (int call = 0; call < kWarmUp + kCallsOfRanks; ++call) {
      session.barrier();
      const bool is_late = session.rank() == 0 && ranks == Ranks::Late;
      if (is_late) std::this_thread::sleep_for(kLate);
      const std::int64_t begin = now_ns();
      kernel->run(context);
      if (call >= kWarmUp) spans.push_back(static_cast<double>(now_ns() - begin));
    }
    sweep.push_back({.bytes = bytes, .ns = middle_of(spans)});
  }
  return sweep;
}

GrpcSweeps sweep_grpc_between(comm::MpiSession& session, const std::string& listen, Ranks ranks) {
  GrpcSweeps sweeps;
  const int process = session.rank();
  for (const std::int64_t bytes : kSizes) {
    comm::RunIdentity run = new_identity();
    run = {.run_id = session.broadcast(run.run_id), .token = session.broadcast(run.token)};
    GrpcEnd end(run, process, listen);
    const std::string address = session.broadcast(process == 0 ? end.exchange.serve() : "");
    if (process > 0) end.exchange.connect(0, address);
    end.build(process, bytes);
    session.barrier();
    if (process == 0) {
      std::optional<ComputingThread> beside;
      if (ranks == Ranks::BesideComputing) beside.emplace();
      answer(end, calls_of(bytes));
    } else if (ranks == Ranks::BesideComputing) {
      measure_core_time(end, bytes, sweeps);
    } else {
      measure_one_way(end, bytes, sweeps);
    }
    session.barrier();
  }
  return sweeps;
}

}  // namespace regatta::simulate
