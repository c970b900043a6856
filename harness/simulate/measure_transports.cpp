// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/measure_transports.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "harness/ranks/launcher.h"
#include "harness/ranks/local_address.h"
#include "harness/ranks/mpirun.h"
#include "harness/simulate/transport_sweeps.h"
#include "kernels/base/error.h"
#include "kernels/comm/grpc/unix_sockets.h"
#include "kernels/graph/collective.h"

namespace regatta::simulate {
namespace {

using virtual_time::kNoLimit;
using virtual_time::MessageTime;
using virtual_time::Transports;
using virtual_time::Way;

constexpr const char* kRings = "rings";  // names of sweeps in a rank's output
constexpr const char* kSums = "sums";
constexpr const char* kOneWay = "one_way";
constexpr const char* kSending = "sending";
constexpr const char* kRingCores = "ring_cores";
constexpr const char* kGrpcCores = "grpc_cores";
/// Environment variable of a rank: the address of the first host, or loopback.
constexpr const char* kAsRank = "REGATTA_MEASURES_AS_RANK";
constexpr std::chrono::minutes kPatience{2};

/// The rate of adding, from the difference between the times of a ring's adding half and its
/// copying half.
/// Units: bytes per ns.
double adding_rate() {
  const SweepPoint adds = sweep_in_process(Op::ReduceScatter).back();
  const SweepPoint copies = sweep_in_process(Op::AllGather).back();
  const double ns = adds.ns - copies.ns;
  return ns > 0 ? static_cast<double>(adds.bytes) / 2 / ns : kNoLimit;
}

/// The rate between the two largest sizes. Units: bytes per ns.
double rate_of(const Sweep& sweep) {
  const SweepPoint& large = sweep[sweep.size() - 1];
  const SweepPoint& less = sweep[sweep.size() - 2];
  const double ns = large.ns - less.ns;
  return ns > 0 ? static_cast<double>(large.bytes - less.bytes) / ns : kNoLimit;
}

/// Returns the cost of a message with these measured sizes and times, smoothed so that a longer
/// message is never faster than a shorter one.
Way way_of_messages(const Sweep& one_way) {
  Way way{.message_ns = one_way.front().ns, .bytes_per_ns = rate_of(one_way)};
  double least = way.message_ns;
  for (const SweepPoint& point : one_way) {
    least = std::max(least, point.ns);
    way.points.push_back({.bytes = static_cast<double>(point.bytes), .ns = least});
  }
  return way;
}

/// Returns the cost of a message, given exchanges of two messages of bytes / `parts`, one of which
/// is added up.
Way way_of_exchanges(const Sweep& sweep, std::int64_t parts, double adding_bytes_per_ns) {
  Sweep one_way;
  for (const SweepPoint& each : sweep) {
    const std::int64_t bytes = each.bytes / parts;
    const double adding_ns = static_cast<double>(bytes) / adding_bytes_per_ns;
    one_way.push_back({.bytes = bytes, .ns = (each.ns - adding_ns) / 2});
  }
  return way_of_messages(one_way);
}

/// Converts measured times of a ring all-reduce between two members into the cost of a message.
/// Such a ring sends two messages of half the bytes in turn, and adds one up at
/// `adding_bytes_per_ns`.
Way way_of_rings(const Sweep& sweep, double adding_bytes_per_ns) {
  return way_of_exchanges(sweep, 2, adding_bytes_per_ns);
}

/// Returns the cost of a message, given sums that reduce to one of two members and send the result
/// back.
Way way_of_sums(const Sweep& sweep, double adding_bytes_per_ns) {
  return way_of_exchanges(sweep, 1, adding_bytes_per_ns);
}

/// Returns the core times of messages at each end, which never decrease with size. A measured
/// exchange consists of `messages` ends of bytes / `parts`, and of work on this many bytes at
/// `rate`, which other costs contain.
std::vector<MessageTime> core_times(const Sweep& sweep, std::int64_t parts, double messages,
                                    double rate) {
  std::vector<MessageTime> all;
  double least = 0;
  for (const SweepPoint& point : sweep) {
    const auto bytes = static_cast<double>(point.bytes / parts);
    least = std::max(least, (point.ns - bytes / rate) / messages);
    all.push_back({.bytes = bytes, .ns = least});
  }
  return all;
}

using Environment = std::map<std::string, std::string>;

/// Makes Open MPI use TCP, as between hosts, but connect only over loopback.
const Environment kOverTcp = {
    {"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "tcp,self"}, {"OMPI_MCA_btl_tcp_if_include", "lo"}};

struct RankSweeps {
  Sweep rings;
  Sweep sums;  ///< Open MPI's own
  GrpcSweeps grpc;
  Sweep ring_cores, grpc_cores;  ///< core times; empty if a rank has several cores
};

void add_sweeps(const std::vector<std::string>& lines, RankSweeps& sweeps) {
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string name;
    SweepPoint point;
    if (!(words >> name >> point.bytes >> point.ns)) continue;
    if (name == kRings) sweeps.rings.push_back(point);
    if (name == kSums) sweeps.sums.push_back(point);
    if (name == kOneWay) sweeps.grpc.one_way.push_back(point);
    if (name == kSending) sweeps.grpc.sending.push_back(point);
    if (name == kRingCores) sweeps.ring_cores.push_back(point);
    if (name == kGrpcCores) sweeps.grpc_cores.push_back(point);
  }
}

/// Starts ranks of this program that run measure_as_rank(), and waits until they have ended.
std::unique_ptr<ranks::Launcher> run_measuring_ranks(ranks::LaunchOptions launch) {
  launch.environment.try_emplace(kAsRank, ranks::kLoopback);
  auto launcher = std::make_unique<ranks::Launcher>(launch);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while ((launcher->running() || !launcher->is_silent()) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return launcher;
}

/// Measures with two ranks.
RankSweeps sweep_by_ranks(ranks::LaunchOptions launch, const std::string& name) {
  launch.ranks = 2;
  launch.logs /= name;
  const std::unique_ptr<ranks::Launcher> ended = run_measuring_ranks(launch);
  RankSweeps sweeps;
  add_sweeps(ended->last_lines(0), sweeps);
  const bool has_grpc = launch.reach == ranks::Reach::Hosts;
  if (has_grpc) add_sweeps(ended->last_lines(1), sweeps);
  const bool has_sums = sweeps.rings.size() > 1 && sweeps.sums.size() > 1;
  if (has_sums && (sweeps.grpc.sending.size() > 1) == has_grpc) return sweeps;
  throw RunError(ErrorKind::Unsupported,
                 fmt::format("messages over {} were not measured: {} (logs in {})", name,
                             ended->last_words(), launch.logs.string()));
}

void print(const char* name, const Sweep& sweep) {
  for (const SweepPoint& point : sweep) {
    std::printf("%s %ld %.1f\n", name, static_cast<long>(point.bytes), point.ns);
  }
  std::fflush(stdout);
}

/// Formats as `64 B 110 us, ...`.
std::string points_text(const Sweep& sweep) {
  std::string text;
  for (const SweepPoint& point : sweep) {
    text += fmt::format("{}{} B {:.0f} us", text.empty() ? "" : ", ", point.bytes, point.ns / 1e3);
  }
  return text;
}

}  // namespace

Transports measure_transports(const TransportMeasuring& options) {
  const auto tell = [&](const std::string& what) {
    if (options.tell) options.tell(what);
  };
  const ranks::LaunchOptions here{.logs = options.logs};
  Transports all;
  tell("messages between threads");
  const double adding = adding_rate();
  all.in_process.adding_bytes_per_ns = adding;
  all.in_process.on_host = way_of_rings(sweep_in_process(Op::AllReduce), adding);
  all.in_process.between_hosts = all.in_process.on_host;
  tell("messages by Open MPI");
  all.open_mpi.adding_bytes_per_ns = adding;
  const RankSweeps memory = sweep_by_ranks(here, "memory");
  all.open_mpi.on_host = way_of_rings(memory.rings, adding);
  all.open_mpi_sums.adding_bytes_per_ns = adding;
  all.open_mpi_sums.on_host = way_of_sums(memory.sums, adding);
  tell("messages by gRPC");
  const comm::SocketFolder sockets;
  GrpcSweeps grpc = sweep_grpc(sockets.listen());
  all.grpc.adding_bytes_per_ns = adding;
  all.grpc.on_host = way_of_messages(grpc.one_way);
  const double sending = rate_of(grpc.sending);
  ranks::LaunchOptions there = here;
  if (options.hosts.empty()) {
    there.environment = kOverTcp;
    grpc = sweep_grpc(ranks::kLoopback);
  } else {
    tell("messages between hosts");
    there.hosts = options.hosts;
    there.reach = ranks::Reach::Hosts;
    there.environment[kAsRank] = options.listen;
  }
  const RankSweeps between = sweep_by_ranks(there, "tcp");
  if (!options.hosts.empty()) {
    grpc = between.grpc;
    tell("Open MPI's rings: " + points_text(between.rings));
    tell("gRPC's messages: " + points_text(grpc.one_way));
  }
  all.open_mpi.between_hosts = way_of_rings(between.rings, adding);
  all.open_mpi_sums.between_hosts = way_of_sums(between.sums, adding);
  all.grpc.between_hosts = way_of_messages(grpc.one_way);
  all.grpc.sending_bytes_per_ns = sending;
  all.open_mpi.between_hosts.core_points = core_times(between.ring_cores, 2, 4, adding);
  all.grpc.between_hosts.core_points = core_times(between.grpc_cores, 1, 1, 2 * sending);
  return all;
}

bool measures_as_rank() { return std::getenv(kAsRank) != nullptr; }

int measure_as_rank() {
  const std::string first = std::getenv(kAsRank);
  const bool is_here = first == ranks::kLoopback;
  const std::string own = is_here ? ranks::kLoopback : ranks::address_towards(first + ":1");
  ranks::choose_links(is_here ? ranks::Reach::ThisHost : ranks::Reach::Hosts, own);
  comm::MpiSession session;
  const Sweep rings = sweep_ranks(session, std::string(kRing), Ranks::InTime);
  // Open MPI progresses only while it is called, so a rank that polls rarely slows its sums down.
  const Sweep sums = sweep_ranks(session, std::string(kMpi), Ranks::Late);
  if (session.rank() == 0) {
    print(kRings, rings);
    print(kSums, sums);
  }
  if (is_here) return 0;
  const GrpcSweeps grpc = sweep_grpc_between(session, own, Ranks::InTime);
  print(kOneWay, grpc.one_way);
  print(kSending, grpc.sending);
  if (!has_one_core()) return 0;
  const Sweep cores = sweep_ranks(session, std::string(kRing), Ranks::BesideComputing);
  if (session.rank() == 0) print(kRingCores, cores);
  print(kGrpcCores, sweep_grpc_between(session, own, Ranks::BesideComputing).one_way);
  return 0;
}

}  // namespace regatta::simulate
