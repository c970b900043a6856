// SPDX-License-Identifier: Apache-2.0
//
// Virtual time against what is known without it: formulas of the literature, traffic computed from
// the graph, and that nothing gets faster by more bytes, a narrower link, a longer way or a slower
// worker.
#include "kernels/virtual/simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/graph/traffic.h"
#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::cluster_of;
using testing_support::parts_of;
using testing_support::Simulated;
using testing_support::VirtualCase;

constexpr double kKernelNs = 1000;

std::int64_t parameter_bytes(const std::vector<Step>& parts) {
  std::int64_t bytes = 0;
  for (const Variable& variable : parts.back().graph.variables()) {
    if (variable.kind == VariableKind::Parameter) bytes += variable.type.bytes();
  }
  return bytes;
}

/// Of the lanes of a part, all of it.
double compute_ns(const Simulated& run) {
  double ns = 0;
  for (const ProgramLane& lane : run.program.lanes) {
    if (lane.process != run.program.processes - 1) continue;
    for (const LaneInstruction& each : lane.instructions) ns += each.ns;
  }
  return ns;
}

/// 2 (n - 1) (latency + M / (n rate)) + (n - 1) M / (n adding).
TEST(VirtualTime, ARingTakesWhatItsFormulaSays) {
  for (const std::int64_t n : {2, 3, 8, 32}) {
    Cluster cluster = cluster_of(static_cast<std::size_t>(n), 1.25, 25'000);
    cluster.transports.open_mpi.adding_bytes_per_ns = 4;
    cluster.transports.open_mpi.between_hosts.message_ns = 3'000;
    const Simulated run({.workers = n, .options = {{"bucket_bytes", std::int64_t{1} << 30}}}, 3,
                        cluster);
    const auto members = static_cast<double>(n);
    const auto bytes = static_cast<double>(parameter_bytes(run.parts));
    const double ring =
        2 * (members - 1) * (28'000 + bytes / members / 1.25) + (members - 1) * bytes / members / 4;
    EXPECT_NEAR(run.ns_of_step() / (compute_ns(run) + ring), 1, 1e-3) << n;
  }
}

/// Of two members, a reduction and a broadcast, each behind a way there and back: 2 (3 latency + M
/// / rate). Of more, a root's messages share its link.
TEST(VirtualTime, OpenMpisOwnSumsGoToOneMemberAndBack) {
  const Cluster cluster = cluster_of(2, 1.25, 25'000);
  const OptionValues options = {{"all_reduce", "mpi"}, {"bucket_bytes", std::int64_t{1} << 30}};
  const Simulated run({.options = options}, 3, cluster);
  const double sums = 2 * (75'000 + static_cast<double>(parameter_bytes(run.parts)) / 1.25);
  EXPECT_NEAR(run.ns_of_step() / (compute_ns(run) + sums), 1, 1e-3);
}

/// What n workers push and pull passes through the server's link: 2 n M / rate.
TEST(VirtualTime, AServersLinkCarriesEveryWorkersBytes) {
  for (const std::int64_t n : {2, 5, 16}) {
    const Cluster cluster = cluster_of(static_cast<std::size_t>(n) + 1, 0.125, 0);
    const Simulated run({.strategy = "parameter_server", .workers = n, .servers = 1}, 3, cluster,
                        0);
    const auto bytes = static_cast<double>(parameter_bytes({run.parts.front()}));
    EXPECT_NEAR(run.ns_of_step() / (2 * static_cast<double>(n) * bytes / 0.125), 1, 1e-3) << n;
  }
}

/// At most min(N / (Z + S), 1 / S), where a worker is away for Z and the server takes S for each of
/// N workers: exactly that of one worker, and of many, whose server is never idle.
TEST(VirtualTime, AnAsynchronousServerIsFullFromItsKneeOn) {
  for (const std::int64_t n : {1, 2, 4, 8, 32, 64}) {
    Cluster cluster = cluster_of(static_cast<std::size_t>(n) + 1, kNoLimit, 0);
    cluster.server_cores = 1;
    constexpr std::int64_t kSteps = 2000;
    const VirtualCase test{
        .workload = "parabola", .strategy = "parameter_server_async", .workers = n, .servers = 1};
    const Simulated run(test, kSteps, cluster, kKernelNs);
    double server = 0;
    double worker = 0;
    for (const ProgramLane& lane : run.program.lanes) {
      double& sum = lane.place.role == Role::Server ? server : worker;
      if (lane.place.replica != 0) continue;
      for (const LaneInstruction& each : lane.instructions) {
        if (each.category != Category::Input) sum += each.ns;  // comes while the server updates
      }
    }
    const auto workers = static_cast<double>(n);
    const double rate = std::min(workers / (worker + server), 1 / server);
    const double share = kSteps * workers / run.simulation->now() / rate;
    EXPECT_LT(share, 1 + 1e-9) << n;
    const bool is_far_from_the_knee = n == 1 || n >= 2 * (worker + server) / server;
    EXPECT_GT(share, is_far_from_the_knee ? 0.999 : 0.9) << n;
  }
}

/// E[max of n] = shift + H_n / mu with exponential times.
TEST(VirtualTime, AStepTakesAsLongAsTheSlowestOfItsWorkers) {
  constexpr std::int64_t n = 8;
  Cluster cluster = cluster_of(n, kNoLimit, 0);
  cluster.compute_times = {.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 0.5};
  const Simulated run({.workload = "parabola", .workers = n}, 4000, cluster, kKernelNs);
  double delayed = 0;  // what a factor multiplies
  double others = 0;
  for (const ProgramLane& lane : run.program.lanes) {
    if (lane.process != 0) continue;
    for (const LaneInstruction& each : lane.instructions) {
      (each.category == Category::Compute ? delayed : others) += each.ns;
    }
  }
  double harmonic = 0;
  for (int i = 1; i <= n; ++i) harmonic += 1.0 / i;
  const double expected = delayed * (0.5 + 0.5 * harmonic) + others;
  EXPECT_NEAR(run.simulation->now() / 4000 / expected, 1, 0.02);
}

TEST(VirtualTime, FactorsHaveTheMeanOne) {
  for (const ComputeTimes& times :
       {ComputeTimes{.kind = ComputeTimes::Kind::Gamma, .spread = 0.3},
        ComputeTimes{.kind = ComputeTimes::Kind::Gamma, .spread = 1.5},
        ComputeTimes{.kind = ComputeTimes::Kind::LogNormal, .spread = 0.4},
        ComputeTimes{.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 0.7},
        ComputeTimes{.kind = ComputeTimes::Kind::Samples, .samples = {1, 2, 6}}}) {
    constexpr int kDraws = 40'000;
    double sum = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      const double factor = compute_factor(times, 5, i % 7, i);
      sum += factor;
      squares += factor * factor;
    }
    EXPECT_NEAR(sum / kDraws, 1, 0.03) << to_string(times.kind);
    if (times.kind == ComputeTimes::Kind::Samples) continue;
    const double deviation = std::sqrt(squares / kDraws - 1);
    EXPECT_NEAR(deviation / times.spread, 1, 0.08) << to_string(times.kind);
  }
}

bool crosses_hosts(const VirtualCase& test) {
  const std::vector<Step> parts = parts_of(test);
  return std::any_of(parts.begin(), parts.end(), [](const Step& part) {
    const auto& nodes = part.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      return node.op == Op::Send || node.attributes.has("processes");
    });
  });
}

class VirtualStrategies : public testing::TestWithParam<VirtualCase> {};

/// Every place, over the processes of the strategy.
TEST_P(VirtualStrategies, CarryTheBytesThatTheGraphSays) {
  const Simulated run(GetParam(), 6, cluster_of(4, 1, 10'000));
  TrafficByPlace computed;
  for (const Step& part : run.parts) add(computed, traffic(part.graph, 6));
  const TrafficByPlace& counted = run.simulation->traffic();
  for (const auto& [place, expected] : computed) {
    EXPECT_EQ(counted.at(place).sent, expected.sent) << to_string(place);
    EXPECT_EQ(counted.at(place).received, expected.received) << to_string(place);
    EXPECT_EQ(counted.at(place).messages, expected.messages) << to_string(place);
  }
  for (const auto& [place, bytes] : counted) {
    EXPECT_TRUE(computed.contains(place)) << to_string(place);
  }
}

TEST_P(VirtualStrategies, AreAlikeToTheBitTwice) {
  Cluster cluster = cluster_of(3, 1, 10'000);
  cluster.compute_times = {.kind = ComputeTimes::Kind::Gamma, .spread = 0.3};
  const Simulated first(GetParam(), 5, cluster);
  const Simulated second(GetParam(), 5, cluster);
  EXPECT_EQ(first.simulation->now(), second.simulation->now());
  EXPECT_EQ(first.simulation->events(), second.simulation->events());
}

TEST_P(VirtualStrategies, AreNeverFasterOnWorseClusters) {
  const Cluster cluster = cluster_of(4, 1, 10'000);
  const double base = Simulated(GetParam(), 6, cluster).simulation->now();
  const auto time_on = [](const Cluster& worse, double kernel_ns = kKernelNs) {
    return Simulated(GetParam(), 6, worse, kernel_ns).simulation->now();
  };
  EXPECT_GT(time_on(cluster, 2 * kKernelNs), base);
  Cluster narrow = cluster;
  narrow.core_bytes_per_ns = 0.25;
  const std::vector<Cluster> worse = {cluster_of(4, 0.5, 10'000), cluster_of(4, 1, 40'000), narrow};
  for (const Cluster& each : worse) {
    if (crosses_hosts(GetParam())) {
      EXPECT_GT(time_on(each), base);
    } else {
      EXPECT_EQ(time_on(each), base);
    }
  }
}

/// A worker's step divides into what it did.
TEST_P(VirtualStrategies, AccountForAllOfTheirTime) {
  const Simulated run(GetParam(), 6, cluster_of(4, 1, 10'000));
  for (const auto& [process, worker] : run.simulation->workers()) {
    const std::int64_t sum = worker.compute_ns + worker.exposed_communication_ns + worker.wait_ns +
                             worker.input_ns + worker.update_ns;
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(worker.total_ns),
                1e-3 * static_cast<double>(worker.total_ns) + 10)
        << to_string(worker.place);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, VirtualStrategies,
    testing::Values(
        VirtualCase{.strategy = "single", .workers = 1}, VirtualCase{.strategy = "independent"},
        VirtualCase{.strategy = "in_graph", .workers = 3},
        VirtualCase{.strategy = "central_storage", .workers = 3},
        VirtualCase{.strategy = "all_reduce", .workers = 3},
        VirtualCase{.strategy = "all_reduce", .workers = 4, .processes = 2},
        VirtualCase{.strategy = "all_reduce",
                    .workers = 4,
                    .options = {{"all_reduce", "hierarchical_copy"}},
                    .processes = 2},
        VirtualCase{
            .strategy = "all_reduce", .workers = 5, .options = {{"all_reduce", "double_tree"}}},
        VirtualCase{.strategy = "all_reduce", .workers = 6, .options = {{"all_reduce", "torus"}}},
        VirtualCase{
            .strategy = "all_reduce", .workers = 3, .options = {{"all_reduce", "reduce_to_one"}}},
        VirtualCase{.strategy = "all_reduce", .workers = 3, .processes = 1},
        VirtualCase{.strategy = "sharded", .workers = 3, .options = {{"shard", "parameters"}}},
        VirtualCase{.strategy = "local_sgd", .options = {{"sync_every", std::int64_t{2}}}},
        VirtualCase{.strategy = "diloco", .options = {{"sync_every", std::int64_t{3}}}},
        VirtualCase{.strategy = "gossip", .workers = 4},
        VirtualCase{.strategy = "all_reduce+powersgd"}, VirtualCase{.strategy = "all_reduce+top_k"},
        VirtualCase{.strategy = "all_reduce+bf16_compress"},
        VirtualCase{.strategy = "parameter_server", .workers = 3, .servers = 1},
        VirtualCase{.strategy = "parameter_server",
                    .workers = 3,
                    .options = {{"servers", std::int64_t{2}}},
                    .servers = 2},
        VirtualCase{.strategy = "parameter_server_async", .workers = 2, .servers = 1},
        VirtualCase{.strategy = "async_shared", .workers = 2, .processes = 1},
        VirtualCase{.strategy = "model_parallel", .workers = 1, .stages = 2},
        VirtualCase{.strategy = "pipeline",
                    .workers = 1,
                    .stages = 2,
                    .options = {{"microbatches", std::int64_t{2}}}},
        VirtualCase{.strategy = "all_reduce+pipeline",
                    .workers = 2,
                    .stages = 2,
                    .options = {{"microbatches", std::int64_t{2}}}}),
    [](const auto& test) {
      std::string name = test.param.strategy;
      std::replace(name.begin(), name.end(), '+', '_');
      for (const auto& [option, value] : test.param.options) name += "_" + to_text(value);
      return name + "_" + std::to_string(test.param.workers) + "x" +
             std::to_string(test.param.stages) + "_" + std::to_string(test.param.processes);
    });

/// Of n workers alike whose times vary, each update misses one of every other, n - 1, but for the
/// part of a cycle between a worker's update and its next read. Source: Gupta, Zhang and Wang,
/// "Model accuracy and runtime tradeoff in distributed deep learning", 2016.
TEST(VirtualTime, UpdatesMissThoseOfTheOtherWorkers) {
  for (const std::int64_t n : {2, 4, 16}) {
    Cluster cluster = cluster_of(static_cast<std::size_t>(n) + 1, 1, 10'000);
    cluster.compute_times = {.kind = ComputeTimes::Kind::Gamma, .spread = 0.3};
    const VirtualCase test{.strategy = "parameter_server_async", .workers = n, .servers = 1};
    const Simulated run(test, 60, cluster, 200'000);
    std::uint64_t updates = 0;
    double missed = 0;
    for (const auto& [process, worker] : run.simulation->workers()) {
      for (std::size_t s = 0; s < worker.staleness.size(); ++s) {
        updates += worker.staleness[s];
        missed += static_cast<double>(s * worker.staleness[s]);
      }
    }
    ASSERT_GT(updates, 0U);
    const auto others = static_cast<double>(n - 1);
    EXPECT_LT(missed / static_cast<double>(updates) / others, 1) << n;
    EXPECT_GT(missed / static_cast<double>(updates) / others, 0.75) << n;
  }
}

/// Each model takes its own steps, however uneven their shares are.
TEST(VirtualTime, ModelsApartTakeEquallyManySteps) {
  const Simulated run(
      {.workload = "parabola", .strategy = "independent", .workers = 3, .batch = 32}, 60,
      cluster_of(3, 1, 10'000));
  for (const SimulatedLoop& loop : run.simulation->loops()) EXPECT_EQ(loop.step_ns.size(), 60U);
  EXPECT_EQ(run.simulation->examples_seen(), 60 * 32);
}

/// Where replica 0 adds up what the others send, it waits for the slowest.
TEST(VirtualTime, WaitingForAStragglerIsNoCommunication) {
  for (const std::string strategy : {"in_graph", "all_reduce", "parameter_server"}) {
    const int servers = strategy == "parameter_server" ? 1 : 0;
    const VirtualCase test{.strategy = strategy, .workers = 2, .servers = servers};
    const Cluster cluster = cluster_of(3, kNoLimit, 0);
    const std::vector<Step> parts = parts_of(test);
    const Program program = make_program(parts, testing_support::costs_of(parts, kKernelNs), 1);
    SimulationOptions options{.stragglers = {{1, 3}}};
    for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p);
    Simulation simulation(program, cluster, options);
    simulation.advance_to(10 * program.global_batch);
    for (const auto& [process, worker] : simulation.workers()) {
      if (worker.place != Place{.replica = 0}) continue;
      EXPECT_GT(worker.wait_ns, worker.compute_ns) << strategy;
      EXPECT_LT(worker.exposed_communication_ns, worker.compute_ns / 100) << strategy;
    }
  }
}

}  // namespace
}  // namespace regatta::virtual_time
