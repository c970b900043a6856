// SPDX-License-Identifier: Apache-2.0
//
// Real steps under real strategies on made-up clusters, for tests of virtual time.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/graph/collective.h"
#include "kernels/virtual/program.h"
#include "kernels/virtual/simulation.h"
#include "strategies/passes.h"
#include "workloads/workload.h"

namespace regatta::virtual_time::testing_support {

struct VirtualCase {
  std::string workload = "resnet9_thin";
  std::string strategy = "all_reduce";
  std::int64_t workers = 2;
  std::int64_t stages = 1;
  OptionValues options = {};
  int servers = 0;
  std::int64_t backups = 0;  ///< backup workers in addition, as an option of the strategy
  std::int64_t batch = 0;    ///< 0: 16 examples per worker
  int processes = 0;         ///< of workers; 0: one per replica
  std::int64_t shards = 1;
  Alike alike = {};  ///< the replicas and shards of which one is built
};

inline void PrintTo(const VirtualCase& test, std::ostream* out) {
  *out << test.strategy << ", " << test.workers << " workers, " << test.stages << " stages";
}

/// Cases with every kind of exchange, over the processes of their strategies.
inline std::vector<VirtualCase> all_kinds() {
  return {VirtualCase{.strategy = "single", .workers = 1},
          VirtualCase{.strategy = "independent"},
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
          VirtualCase{.strategy = "all_reduce",
                      .workers = 6,
                      .options = {{"all_reduce", "torus"}, {"torus", "1x6"}}},
          VirtualCase{
              .strategy = "all_reduce", .workers = 3, .options = {{"all_reduce", "reduce_to_one"}}},
          VirtualCase{.strategy = "all_reduce", .workers = 3, .processes = 1},
          VirtualCase{.strategy = "sharded", .workers = 3, .options = {{"shard", "parameters"}}},
          VirtualCase{.strategy = "local_sgd", .options = {{"sync_every", std::int64_t{2}}}},
          VirtualCase{.strategy = "diloco", .options = {{"sync_every", std::int64_t{3}}}},
          VirtualCase{.strategy = "gossip", .workers = 4},
          VirtualCase{.strategy = "all_reduce+powersgd"},
          VirtualCase{.strategy = "all_reduce+top_k"},
          VirtualCase{.strategy = "sharded+powersgd", .workers = 3},
          VirtualCase{.strategy = "sharded+top_k", .workers = 3},
          VirtualCase{.strategy = "parameter_server+top_k", .workers = 3, .servers = 1},
          VirtualCase{.strategy = "all_reduce+bf16_compress"},
          VirtualCase{.strategy = "all_reduce+quantized"},
          VirtualCase{.strategy = "diloco+quantized", .workers = 3},
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
                      .options = {{"microbatches", std::int64_t{2}}}}};
}

/// Returns the case's name in a form that a test's name may contain.
inline std::string name_of(const VirtualCase& test) {
  std::string name = test.strategy;
  std::replace(name.begin(), name.end(), '+', '_');
  for (const auto& [option, value] : test.options) name += "_" + to_text(value);
  return name + "_" + std::to_string(test.workers) + "x" + std::to_string(test.stages) + "_" +
         std::to_string(test.processes);
}

/// Bytes in use on the heap; not with a sanitizer, whose allocator does not report them.
inline double bytes_in_use() { return static_cast<double>(mallinfo2().uordblks); }

/// The parts of the case's step by process: servers first, then shares of the replicas, each with
/// its stages and shards, or equal shares of all workers.
inline std::vector<Step> parts_of(const VirtualCase& test) {
  workloads::Recipe recipe;
  recipe.global_batch = test.batch > 0 ? test.batch : 16 * test.workers;
  recipe.train_examples = 10'000;
  recipe.total_examples = 100 * recipe.global_batch;
  recipe.options.given = test.options;
  const workloads::Workload& workload = workloads::find_workload(test.workload);
  const Step step = workload.training(recipe);
  strategies::StrategyOptions options;
  options.replicas = test.workers;
  options.stages = test.stages;
  options.shards = test.shards;
  options.alike = test.alike;
  options.given = test.options;
  if (test.backups > 0) options.given["backup_workers"] = test.backups;
  const Step placed = strategies::apply(strategies::find_strategies(test.strategy), step, options);
  const std::int64_t replicas = test.workers + test.backups;
  const std::int64_t processes = test.processes > 0 ? test.processes : replicas;
  const Binding binding{.processes = test.servers + static_cast<int>(processes),
                        .process_of = [=](const Place& place) {
                          if (place.role == Role::Server) return place.stage;
                          if (processes > replicas) {
                            const std::int64_t of_replica = test.stages * test.shards;
                            const std::int64_t worker = place.replica * of_replica +
                                                        place.stage * test.shards + place.shard;
                            return static_cast<int>(worker * processes / (replicas * of_replica));
                          }
                          for (std::int64_t p = 0; p < processes; ++p) {
                            if (place.replica < share(replicas, processes, p).end) {
                              return test.servers + static_cast<int>(p);
                            }
                          }
                          return test.servers;
                        }};
  return strategies::partitioned(placed, binding);
}

inline constexpr double kKernelNs = 1000;

/// Returns the same time, `ns`, for every kernel of the parts.
inline KernelCosts costs_of(const std::vector<Step>& parts, double ns) {
  KernelCosts costs;
  for (const std::string& key : make_program(parts, {}, 1).unknown_kernels) costs[key] = ns;
  return costs;
}

/// A cluster of hosts with cores for all. `rate`: in bytes per nanosecond.
inline Cluster cluster_of(std::size_t hosts, double rate, double latency_ns) {
  Cluster cluster;
  for (std::size_t h = 0; h < hosts; ++h) {
    cluster.hosts.push_back({.name = "host" + std::to_string(h),
                             .cores = 256,
                             .out_bytes_per_ns = rate,
                             .in_bytes_per_ns = rate});
  }
  cluster.latency_ns = latency_ns;
  cluster.server_cores = 64;
  return cluster;
}

struct Simulated {
  explicit Simulated(const VirtualCase& test, std::int64_t steps, const Cluster& on,
                     double kernel_ns = kKernelNs)
      : parts(parts_of(test)), cluster(on) {
    program = make_program(parts, costs_of(parts, kernel_ns), 1);
    SimulationOptions options;
    for (int p = 0; p < program.processes; ++p) {
      options.host_of.push_back(p % static_cast<int>(cluster.hosts.size()));
    }
    simulation = std::make_unique<Simulation>(program, cluster, options);
    simulation->advance_to(steps * program.global_batch);
  }
  double ns_of_step() const { return simulation->loops().front().step_ns.back(); }

  std::vector<Step> parts;
  Cluster cluster;
  Program program;
  std::unique_ptr<Simulation> simulation;
};

}  // namespace regatta::virtual_time::testing_support
