// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/measure_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "kernels/comm/in_process/in_process.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/messages.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

constexpr const char* kMembersOfSums = "REGATTA_MEASURES_SUMS_OF";
constexpr int kBlocksOfLongSums = 8;
constexpr int kBlocksOfShortSums = 40;  // below kInlineBytes
constexpr int kSumsOfBlock = 10;        // in a row: no member is a sum ahead
constexpr int kSingleSums = 5;          // before blocks
constexpr double kPatienceNs = 1e8;     // for all blocks of an algorithm and a size
constexpr int kSumYields = 50;          // as of lanes that share cores (executor.cpp)

/// The members of a sum and their processes, each of which has a contiguous share.
struct Spread {
  std::int64_t members = 1;
  std::int64_t processes = 1;
  std::int64_t columns = 0;  ///< of a torus; 0: as nearly square as the members allow
  auto operator<=>(const Spread&) const = default;
};

std::set<Spread> spreads_of(const std::vector<Step>& parts, const StrategyOptions& replicas) {
  std::set<Spread> all;
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (node.op != Op::AllReduce) continue;
      const CollectiveShape shape = collective_shape(part.graph, node);
      const std::set<std::int64_t> processes(shape.part_of.begin(), shape.part_of.end());
      if (shape.members == 1) continue;
      all.insert({.members = shape.members,
                  .processes = std::max<std::int64_t>(1, std::ssize(processes)),
                  .columns = shape.members == replicas.replicas ? replicas.replicas_on_host : 0});
    }
  }
  return all;
}

/// The members of one sum in this process, each with a thread.
class SummingMembers {
 public:
  /// `session`: connects the ranks; null if one process has all members.
  SummingMembers(const Spread& spread, MpiSession* session, std::string_view algorithm,
                 std::int64_t bytes)
      : session_(session) {
    if (session == nullptr) {
      transport_ = std::make_unique<InProcessTransport>();
    } else {
      transport_ = std::make_unique<MpiTransport>(*session);
    }
    transport_->add_kernels(table_);
    const Range own = share(spread.members, spread.processes, session ? session->rank() : 0);
    members_.resize(static_cast<std::size_t>(own.size()));
    for (std::int64_t m = own.begin; m < own.end; ++m) {
      build(members_[static_cast<std::size_t>(m - own.begin)], m, spread, algorithm, bytes);
    }
    transport_->connect();
  }

  /// The time of one sum in the quickest of at most `blocks` blocks, because other load only adds
  /// time. If a block would exceed kPatienceNs, that of the quickest of the first, single sums.
  /// Units: ns.
  double ns(int blocks) {
    std::barrier together(std::ssize(members_));
    std::atomic<bool> goes_on = true;
    double single = virtual_time::kNoLimit, least = virtual_time::kNoLimit;
    const std::int64_t start = now_ns();
    const auto run = [&](Member& member, bool is_first) {
      const StepContext context{.counters = &member.counters};
      for (int block = 0; block < kSingleSums + blocks; ++block) {
        const int sums = block < kSingleSums ? 1 : kSumsOfBlock;
        if (is_first) {
          const double next = block == 0 ? 0 : sums * single;
          goes_on = agreed(static_cast<double>(now_ns() - start) + next < kPatienceNs);
        }
        together.arrive_and_wait();
        if (!goes_on) return;
        const std::int64_t begin = now_ns();
        for (int sum = 0; sum < sums; ++sum) member.kernel->run(context);
        const auto span = static_cast<double>(now_ns() - begin);
        if (!is_first) continue;
        double& quickest = sums == 1 ? single : least;
        quickest = std::min(quickest, span / sums);
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t m = 1; m < members_.size(); ++m) {
      others.emplace_back([&run, &member = members_[m]] { run(member, false); });
    }
    run(members_.front(), true);
    others.clear();
    return least < virtual_time::kNoLimit ? least : single;
  }

 private:
  struct Member {
    std::vector<float> buffer;
    Tensor tensor;
    Node node;
    LaneCounters counters;
    std::unique_ptr<Kernel> kernel;
  };

  /// Rank 0's value of `wanted`, returned by all ranks at the same time.
  bool agreed(bool wanted) {
    if (session_ == nullptr) return wanted;
    const bool said = session_->broadcast(wanted ? "on" : "") == "on";
    session_->barrier();
    return said;
  }

  void build(Member& made, std::int64_t member, const Spread& spread, std::string_view algorithm,
             std::int64_t bytes) {
    made.buffer.resize(static_cast<std::size_t>(bytes / 4));
    made.tensor = {.type = {ElementType::F32, {bytes / 4}}, .data = made.buffer.data()};
    made.node.op = Op::AllReduce;
    made.node.place.replica = static_cast<int>(member);
    made.node.member = member;
    made.node.attributes = {{"group", std::int64_t{0}},
                            {"members", spread.members},
                            {"algorithm", std::string(algorithm)}};
    if (algorithm == kTorus && spread.columns > 0) {
      made.node.attributes.set("columns", spread.columns);
    }
    if (session_ != nullptr) {
      std::vector<std::int64_t> processes;
      for (std::int64_t p = 0; p < spread.processes; ++p) {
        const Range here = share(spread.members, spread.processes, p);
        processes.insert(processes.end(), static_cast<std::size_t>(here.size()), p);
      }
      made.node.attributes.set("processes", processes);
    }
    const bool in_the_lane = bytes < kInlineBytes;
    const bool shares = spread.members > std::thread::hardware_concurrency();
    made.kernel = table_.build({.node = made.node,
                                .inputs = {&made.tensor, 1},
                                .outputs = {&made.tensor, 1},
                                .variables = {},
                                .versions_seen = {},
                                .spins = in_the_lane && !shares ? kSweepSpins : 0,
                                .yields = in_the_lane && shares ? kSumYields : 0});
  }

  MpiSession* session_;
  std::unique_ptr<Transport> transport_;
  KernelTable table_{"cpu"};
  std::vector<Member> members_;
};

/// Times of sums for each algorithm.
std::map<std::string, Sweep> sweep_sums(const Spread& spread, MpiSession* session) {
  std::vector<std::string_view> algorithms(all_reduce_algorithms().begin(),
                                           all_reduce_algorithms().end());
  if (session != nullptr) algorithms.push_back(kMpi);
  std::map<std::string, Sweep> sweeps;
  for (const std::string_view algorithm : algorithms) {
    Sweep& sweep = sweeps[std::string(algorithm)];
    for (const std::int64_t bytes : kSweepBytes) {
      const int blocks = bytes < kInlineBytes ? kBlocksOfShortSums : kBlocksOfLongSums;
      SummingMembers members(spread, session, algorithm, bytes);
      sweep.push_back({.bytes = bytes, .ns = members.ns(blocks)});
    }
  }
  return sweeps;
}

/// Parses lines `ALGORITHM NS NS ...` with a time for each of kSweepBytes.
std::map<std::string, Sweep> sweeps_in(const std::vector<std::string>& lines) {
  std::map<std::string, Sweep> sweeps;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string algorithm;
    Sweep sweep;
    words >> algorithm;
    for (const std::int64_t bytes : kSweepBytes) {
      SweepPoint point{.bytes = bytes};
      if (words >> point.ns) sweep.push_back(point);
    }
    if (sweep.size() == kSweepBytes.size()) sweeps[algorithm] = std::move(sweep);
  }
  return sweeps;
}

/// Lowers each time to that of any larger sum, because other load on the machine only adds time.
Sweep without_spoilt(Sweep sweep) {
  for (std::size_t i = sweep.size() - 1; i-- > 0;) {
    sweep[i].ns = std::min(sweep[i].ns, sweep[i + 1].ns);
  }
  return sweep;
}

std::map<std::string, Sweep> sweep_by_ranks_of(const Spread& spread,
                                               const TransportMeasuring& options) {
  LaunchOptions launch =
      options.hosts.empty() ? LaunchOptions{.logs = options.logs} : launch_between_hosts(options);
  launch.ranks = static_cast<int>(spread.processes);
  launch.logs /= fmt::format("sums_of_{}_in_{}", spread.members, spread.processes);
  launch.environment[kMembersOfSums] = fmt::format("{} {}", spread.members, spread.columns);
  const std::unique_ptr<Launcher> ended = run_measuring_ranks(launch);
  std::map<std::string, Sweep> sweeps = sweeps_in(ended->last_lines(0));
  if (sweeps.size() == all_reduce_algorithms().size() + 1) return sweeps;
  throw not_measured("sums", *ended, launch);
}

}  // namespace

std::vector<MeasuredSum> measure_sums(const std::vector<Step>& parts,
                                      const StrategyOptions& replicas,
                                      const TransportMeasuring& options) {
  std::vector<MeasuredSum> all;
  for (const Spread& spread : spreads_of(parts, replicas)) {
    options.tell(fmt::format("sums of {} workers in {} process{}", spread.members, spread.processes,
                             spread.processes == 1 ? "" : "es"));
    const bool in_ranks = spread.processes > 1;
    const auto sweeps = in_ranks ? sweep_by_ranks_of(spread, options) : sweep_sums(spread, nullptr);
    for (const auto& [algorithm, sweep] : sweeps) {
      all.push_back({.algorithm = algorithm,
                     .members = spread.members,
                     .processes = spread.processes,
                     .columns = algorithm == kTorus ? spread.columns : 0,
                     .between_hosts = in_ranks && !options.hosts.empty(),
                     .way = way_of_messages(without_spoilt(sweep))});
    }
  }
  return all;
}

bool sums_as_rank(MpiSession& session) {
  const char* measured = std::getenv(kMembersOfSums);
  if (measured == nullptr) return false;
  Spread spread{.processes = session.size()};
  std::istringstream(measured) >> spread.members >> spread.columns;
  for (const auto& [algorithm, sweep] : sweep_sums(spread, &session)) {
    if (session.rank() > 0) continue;
    std::string line = algorithm;
    for (const SweepPoint& point : sweep) line += fmt::format(" {:.1f}", point.ns);
    std::puts(line.c_str());
  }
  std::fflush(stdout);
  return true;
}

}  // namespace regatta
