// SPDX-License-Identifier: Apache-2.0
//
// A step of which one of the places that are alike is built takes the times and sends the bytes of
// the step with all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::cluster_of;
using testing_support::name_of;
using testing_support::parts_of;
using testing_support::VirtualCase;

constexpr std::int64_t kAlikeSteps = 3;

struct AlikeCase {
  VirtualCase cell;
  int on_host = 1;           ///< processes
  double within = 1e-9;      ///< relative difference of step times
  bool deals_input = false;  ///< the first shard sends the batch to the others, which is left out
};

void PrintTo(const AlikeCase& test, std::ostream* out) {
  *out << name_of(test.cell) << ", " << test.cell.shards << " shards, " << test.on_host
       << " processes on a host";
}

/// The time of a kernel grows with the elements that it writes or updates.
KernelCosts costs_by_size(const std::vector<Step>& parts) {
  KernelCosts costs;
  for (const Step& part : parts) {
    const Graph& graph = part.graph;
    for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
      if (!computes(graph, graph.node(id))) continue;
      std::int64_t elements = 0;
      for (const TensorType& type : graph.node(id).outputs) elements += type.elements();
      for (const VariableId v : graph.node(id).variables) {
        elements += graph.variable(v).type.elements();
      }
      costs[kernel_key(graph, id, lane_threads(graph, 1))] = 10 * static_cast<double>(elements);
    }
  }
  return costs;
}

struct AlikeRun {
  AlikeRun(const AlikeCase& test, const Alike& alike) {
    VirtualCase cell = test.cell;
    cell.workload = "gpt_tiny";
    cell.batch = 8 * cell.workers;
    cell.alike = alike;
    parts = parts_of(cell);
    program = make_program(parts, costs_by_size(parts), 1);
    const int hosts = (program.processes + test.on_host - 1) / test.on_host;
    cluster = cluster_of(static_cast<std::size_t>(hosts), 1.25, 2'000);
    cluster.transports.open_mpi.on_host = {.message_ns = 300, .bytes_per_ns = 5};
    cluster.transports.open_mpi.between_hosts = {.message_ns = 900, .bytes_per_ns = 2};
    cluster.transports.open_mpi.adding_bytes_per_ns = 8;
    cluster.transports.in_process.on_host = {.message_ns = 200, .bytes_per_ns = 10};
    cluster.transports.in_process.adding_bytes_per_ns = 8;
    SimulationOptions at;
    for (int p = 0; p < program.processes; ++p) at.host_of.push_back(p / test.on_host);
    simulation = std::make_unique<Simulation>(program, cluster, at);
    simulation->advance_to(kAlikeSteps * program.global_batch);
  }

  double step_ns() const { return simulation->loops().front().step_ns.back(); }
  std::int64_t sent_by_parts() const {
    std::int64_t bytes = 0;
    for (const Step& part : parts) bytes += bytes_sent_by_all(part, kAlikeSteps);
    return bytes;
  }
  /// The times of the places of replica 0 and shard 0, one after the other. A wait for others and
  /// the exchange behind it count as one: which of the shards waits depends on who has the batch.
  std::vector<double> times() const {
    std::vector<double> all;
    for (const auto& [process, worker] : simulation->workers()) {
      if (worker.place.replica != 0 || worker.place.shard != 0) continue;
      for (const std::int64_t ns : {worker.compute_ns, worker.update_ns,
                                    worker.exposed_communication_ns + worker.wait_ns}) {
        all.push_back(static_cast<double>(ns));
      }
    }
    return all;
  }

  std::vector<Step> parts;
  Cluster cluster;
  Program program;
  std::unique_ptr<Simulation> simulation;
};

/// Bytes of the batch that the first shards send to the others of their stages in a step.
std::int64_t dealt_bytes(const AlikeRun& all) {
  std::int64_t bytes = 0;
  for (const Step& part : all.parts) {
    for (const Node& node : part.graph.nodes()) {
      const bool comes = node.op == Op::Receive || node.op == Op::Copy;
      if (!comes || node.layer != "input" || node.place.shard == 0) continue;
      const Place from = sender_of(node);
      if (from.stage != node.place.stage) continue;
      for (const TensorType& type : node.outputs) bytes += type.bytes();
    }
  }
  return bytes;
}

/// Shares of one bucket differ by an element.
constexpr double kUneven = 1e-5;
/// The batch that the first shard sends to the others is left out.
constexpr double kBatch = 2e-3;
/// The slowest of the members in a ring over hosts of several stands for all.
constexpr double kMixedRing = 1e-2;

class AlikePlaces : public testing::TestWithParam<AlikeCase> {};

TEST_P(AlikePlaces, TakeTheTimesAndSendTheBytesOfAll) {
  const AlikeCase& test = GetParam();
  const bool every_shard = test.cell.strategy.ends_with("context_parallel");
  const Alike alike{.replicas = test.cell.workers, .shards = every_shard ? 1 : test.cell.shards};
  const AlikeRun all(test, {}), one(test, alike);
  ASSERT_EQ(one.program.alike, alike);
  EXPECT_EQ(one.simulation->examples_seen(), all.simulation->examples_seen());
  EXPECT_EQ(std::ssize(all.simulation->workers()),
            std::ssize(one.simulation->workers()) * alike.places());
  const double rounding = test.within;
  EXPECT_NEAR(one.step_ns() / all.step_ns(), 1, rounding);
  EXPECT_NEAR(one.simulation->now() / all.simulation->now(), 1, rounding);
  const std::int64_t dealt = test.deals_input ? kAlikeSteps * dealt_bytes(all) : 0;
  EXPECT_EQ(one.simulation->bytes_sent() + dealt, all.simulation->bytes_sent());
  EXPECT_EQ(one.sent_by_parts(), one.simulation->bytes_sent());
  EXPECT_EQ(all.sent_by_parts(), all.simulation->bytes_sent());
  const std::vector<double> expected = all.times(), times = one.times();
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(times[i], expected[i], std::max(4.0, rounding * all.simulation->now())) << i;
  }
}

const OptionValues kFourMicrobatches = {{"microbatches", std::int64_t{4}}};

VirtualCase of_replicas(const std::string& strategy, int processes, const OptionValues& options) {
  return {.strategy = strategy, .workers = 4, .options = options, .processes = processes};
}
VirtualCase of_shards(const std::string& sequence_parallel) {
  return {.strategy = "tensor_parallel",
          .workers = 1,
          .options = {{"sequence_parallel", sequence_parallel}},
          .processes = 4,
          .shards = 4};
}
/// 2 replicas of 2 stages.
VirtualCase of_stages(const std::string& strategy, std::int64_t shards, int processes) {
  return {.strategy = strategy,
          .workers = 2,
          .stages = 2,
          .options = kFourMicrobatches,
          .processes = processes,
          .shards = shards};
}
const std::string kAll = "all_reduce+pipeline+tensor_parallel";

INSTANTIATE_TEST_SUITE_P(
    Strategies, AlikePlaces,
    testing::Values(
        AlikeCase{.cell = of_replicas("all_reduce", 4, {})},
        AlikeCase{.cell = of_replicas("all_reduce", 4, {}), .on_host = 4},
        AlikeCase{.cell = of_replicas("all_reduce", 4, {}), .on_host = 2, .within = kMixedRing},
        AlikeCase{.cell = of_replicas("all_reduce", 1, {})},
        AlikeCase{.cell = of_replicas("all_reduce", 4, {{"all_reduce", "double_tree"}})},
        AlikeCase{.cell = of_replicas("all_reduce", 4, {{"all_reduce", "hierarchical_copy"}}),
                  .on_host = 2,
                  .within = kMixedRing},
        AlikeCase{.cell = of_replicas("all_reduce", 4, kFourMicrobatches)},
        AlikeCase{.cell = of_replicas("sharded", 4, {}), .within = kUneven},
        AlikeCase{.cell = of_replicas("sharded", 4, {{"shard", "parameters"}}), .within = kUneven},
        AlikeCase{.cell = of_shards("no"), .within = kBatch, .deals_input = true},
        AlikeCase{.cell = of_shards("yes"), .on_host = 4, .within = kBatch, .deals_input = true},
        AlikeCase{.cell = of_stages("all_reduce+pipeline", 1, 4)},
        AlikeCase{.cell = of_stages("sharded+pipeline", 1, 4), .on_host = 2, .within = kUneven},
        AlikeCase{.cell = {.strategy = "all_reduce+context_parallel",
                           .workers = 2,
                           .processes = 4,
                           .shards = 2}},
        AlikeCase{.cell = {.strategy = "all_reduce+tensor_parallel",
                           .workers = 2,
                           .processes = 4,
                           .shards = 2},
                  .on_host = 2,
                  .within = kBatch,
                  .deals_input = true},
        AlikeCase{.cell = {.strategy = "sharded+tensor_parallel",
                           .workers = 2,
                           .options = {{"shard", "parameters"}, {"microbatches", std::int64_t{2}}},
                           .processes = 4,
                           .shards = 2},
                  .within = kBatch,
                  .deals_input = true},
        AlikeCase{.cell = of_stages(kAll, 2, 8), .within = kBatch, .deals_input = true},
        AlikeCase{
            .cell = of_stages(kAll, 2, 8), .on_host = 2, .within = kBatch, .deals_input = true},
        AlikeCase{
            .cell = of_stages(kAll, 2, 8), .on_host = 4, .within = kBatch, .deals_input = true},
        AlikeCase{
            .cell = of_stages(kAll, 2, 8), .on_host = 8, .within = kBatch, .deals_input = true},
        AlikeCase{.cell = of_stages(kAll, 2, 2), .within = kBatch, .deals_input = true}));

}  // namespace
}  // namespace regatta::virtual_time
