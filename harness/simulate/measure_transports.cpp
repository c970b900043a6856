// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/measure_transports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

#include "harness/ranks/launcher.h"
#include "harness/ranks/open_mpi.h"
#include "harness/ranks/own_address.h"
#include "harness/system/run_id.h"
#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

using virtual_time::kNoLimit;
using virtual_time::Transports;
using virtual_time::Way;

constexpr std::array<std::int64_t, 5> kSizes = {64, 4 << 10, 64 << 10, 1 << 20, 4 << 20};  // bytes
constexpr int kWarmUp = 5;
constexpr int kSpins = 400;  // of a wait between lanes that have a core each (executor.cpp)
constexpr const char* kPoint = "sweep";
constexpr const char* kAsRank = "REGATTA_MEASURES_AS_RANK";
constexpr std::chrono::minutes kPatience{2};

int calls_of(std::int64_t bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(200'000'000 / bytes, 25, 1000));
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of rings between two threads, or of one half of them.
std::vector<SweepPoint> sweep_in_process(Op op) {
  std::vector<SweepPoint> sweep;
  for (const std::int64_t bytes : kSizes) {
    AllReduceGroup group({.op = op, .algorithm = "ring", .members = 2});
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
      const AllReduceGroup::Observer observer{.peer_waits = &waits,
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

/// The half of a ring that adds takes so much longer than the one that copies. Units: bytes a ns.
double adding_rate() {
  const double adds = sweep_in_process(Op::ReduceScatter).back().ns;
  const double copies = sweep_in_process(Op::AllGather).back().ns;
  return adds > copies ? static_cast<double>(kSizes.back()) / 2 / (adds - copies) : kNoLimit;
}

/// One way between two exchanges on loopback, and how long a send takes its lane.
struct GrpcTimes {
  std::vector<SweepPoint> one_way;
  std::vector<SweepPoint> sending;
};

/// A message from or to process `peer`.
std::unique_ptr<Kernel> message_kernel(const KernelTable& table, Node& node, const Tensor& tensor) {
  KernelRequest request{.node = node};
  (node.op == Op::Send ? request.inputs : request.outputs) = {&tensor, 1};
  return table.build(request);
}

/// An end of a pair of exchanges, with a message each way.
struct GrpcEnd {
  GrpcEnd(const RunIdentity& run, int process)
      : exchange({.run = run, .process = process, .processes = 2}) {
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

  GrpcExchange exchange;
  KernelTable table{"cpu"};
  std::vector<float> memory;
  Tensor tensor;
  Node out, in;
  LaneCounters counters;
  std::unique_ptr<Kernel> send, receive;
};

GrpcTimes sweep_grpc() {
  GrpcTimes times;
  for (const std::int64_t bytes : kSizes) {
    const RunIdentity run{.run_id = random_hexadecimal(16), .token = random_hexadecimal(32)};
    GrpcEnd server(run, 0);
    GrpcEnd worker(run, 1);
    worker.exchange.connect(0, server.exchange.serve());
    server.build(0, bytes);
    worker.build(1, bytes);
    const int calls = calls_of(bytes);
    std::thread answers([&] {
      for (std::int64_t step = 0; step < kWarmUp + calls; ++step) {
        const StepContext context{.step = step, .counters = &server.counters};
        server.receive->run(context);
        server.send->run(context);
      }
    });
    std::vector<double> rounds, sends;
    for (std::int64_t step = 0; step < kWarmUp + calls; ++step) {
      const StepContext context{.step = step, .counters = &worker.counters};
      const std::int64_t begin = now_ns();
      worker.send->run(context);
      const std::int64_t sent = now_ns();
      worker.receive->run(context);
      if (step < kWarmUp) continue;
      rounds.push_back(static_cast<double>(now_ns() - begin) / 2);
      sends.push_back(static_cast<double>(sent - begin));
    }
    answers.join();
    times.one_way.push_back({.bytes = bytes, .ns = middle_of(rounds)});
    times.sending.push_back({.bytes = bytes, .ns = middle_of(sends)});
  }
  return times;
}

/// Bytes a nanosecond between the two largest sizes.
double rate_of(const std::vector<SweepPoint>& sweep) {
  const SweepPoint& large = sweep[sweep.size() - 1];
  const SweepPoint& less = sweep[sweep.size() - 2];
  const double ns = large.ns - less.ns;
  return ns > 0 ? static_cast<double>(large.bytes - less.bytes) / ns : kNoLimit;
}

using Environment = std::map<std::string, std::string>;

/// Over TCP, as between hosts; on loopback alone.
const Environment kOverTcp = {
    {"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "tcp,self"}, {"OMPI_MCA_btl_tcp_if_include", "lo"}};

/// By two ranks, over memory or over TCP.
std::vector<SweepPoint> sweep_open_mpi(const TransportMeasuring& options, const std::string& name,
                                       Environment environment) {
  LaunchOptions launch;
  launch.ranks = 2;
  launch.logs = options.logs / name;
  launch.environment = std::move(environment);
  launch.environment[kAsRank] = "1";
  Launcher launcher(launch);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while ((launcher.running() || !launcher.is_silent()) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::vector<SweepPoint> sweep;
  for (const std::string& line : launcher.last_lines(0)) {
    std::istringstream words(line);
    std::string word;
    SweepPoint point;
    if (words >> word >> point.bytes >> point.ns && word == kPoint) sweep.push_back(point);
  }
  if (sweep.size() == kSizes.size()) return sweep;
  throw RunError(ErrorKind::Unsupported, "Open MPI's exchanges over " + name +
                                             " were not measured: " + launcher.last_words() +
                                             " (logs in " + launch.logs.string() + ")");
}

}  // namespace

Way way_of_rings(const std::vector<SweepPoint>& sweep, double adding_bytes_per_ns) {
  const double ns_a_byte = 1 / rate_of(sweep) - 0.5 / adding_bytes_per_ns;
  const double message_ns = sweep.front().ns / 2;
  return {.message_ns = message_ns, .bytes_per_ns = ns_a_byte > 0 ? 1 / ns_a_byte : kNoLimit};
}

Transports measure_transports(const TransportMeasuring& options) {
  const auto tell = [&](const std::string& what) {
    if (options.tell) options.tell(what);
  };
  Transports all;
  tell("messages between threads");
  const double adding = adding_rate();
  all.in_process.adding_bytes_per_ns = adding;
  all.in_process.on_host = way_of_rings(sweep_in_process(Op::AllReduce), adding);
  all.in_process.between_hosts = all.in_process.on_host;
  tell("messages by Open MPI");
  all.open_mpi.adding_bytes_per_ns = adding;
  all.open_mpi.on_host = way_of_rings(sweep_open_mpi(options, "memory", {}), adding);
  all.open_mpi.between_hosts = way_of_rings(sweep_open_mpi(options, "tcp", kOverTcp), adding);
  tell("messages by gRPC");
  const GrpcTimes grpc = sweep_grpc();
  all.grpc.adding_bytes_per_ns = adding;
  all.grpc.on_host = {.message_ns = grpc.one_way.front().ns, .bytes_per_ns = rate_of(grpc.one_way)};
  all.grpc.between_hosts = all.grpc.on_host;
  all.grpc.sending_bytes_per_ns = rate_of(grpc.sending);
  return all;
}

bool measures_as_rank() { return std::getenv(kAsRank) != nullptr; }

int measure_open_mpi_as_rank() {
  choose_links(Reach::ThisHost, kLoopback);
  listen_only_at(kLoopback);
  MpiSession session;
  for (const std::int64_t bytes : kSizes) {
    MpiTransport transport(session);
    KernelTable table("cpu");
    transport.add_kernels(table);
    std::vector<float> buffer(static_cast<std::size_t>(bytes / 4));
    const Tensor tensor{.type = {ElementType::F32, {bytes / 4}}, .data = buffer.data()};
    std::vector<std::int64_t> processes(static_cast<std::size_t>(session.size()));
    std::iota(processes.begin(), processes.end(), 0);
    Node node;
    node.op = Op::AllReduce;
    node.attributes = {{"group", std::int64_t{0}},
                       {"member", std::int64_t{session.rank()}},
                       {"members", std::int64_t{session.size()}},
                       {"algorithm", "ring"},
                       {"processes", processes}};
    LaneCounters counters;
    const std::unique_ptr<Kernel> kernel = table.build({.node = node,
                                                        .inputs = {&tensor, 1},
                                                        .outputs = {&tensor, 1},
                                                        .variables = {},
                                                        .versions_seen = {},
                                                        .spins = kSpins});
    transport.connect();
    const StepContext context{.counters = &counters};
    std::vector<double> spans;
    const int calls = calls_of(bytes);
    for (int call = 0; call < kWarmUp + calls; ++call) {
      session.barrier();
      const std::int64_t begin = now_ns();
      kernel->run(context);
      if (call >= kWarmUp) spans.push_back(static_cast<double>(now_ns() - begin));
    }
    if (session.rank() == 0) {
      std::printf("%s %ld %.1f\n", kPoint, static_cast<long>(bytes), middle_of(spans));
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace regatta
