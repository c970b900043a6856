// SPDX-License-Identifier: Apache-2.0
//
// Events per second and memory of a simulation: resnet9 under a ring and under a server. Counters:
// events per step, heap bytes of the placed step, and those of the program and its run.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::bytes_in_use;

void simulate(benchmark::State& state, const testing_support::VirtualCase& test) {
  const double before = bytes_in_use();
  const std::vector<Step> parts = testing_support::parts_of(test);
  const double placed = bytes_in_use();
  const Program program = make_program(parts, testing_support::costs_of(parts, 1e5), 1);
  const Cluster cluster = testing_support::cluster_of(parts.size(), 1.25, 25'000);
  SimulationOptions options;
  for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p);
  std::uint64_t events = 0;
  double run_bytes = 0;
  for (auto _ : state) {
    Simulation simulation(program, cluster, options);
    simulation.advance_to(2 * program.global_batch);
    events += simulation.events();
    run_bytes = bytes_in_use() - placed;
  }
  state.counters["events_a_step"] =
      static_cast<double>(events) / 2 / static_cast<double>(state.iterations());
  state.counters["events_per_s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["placed_MB"] = (placed - before) / 1e6;
  state.counters["simulated_MB"] = run_bytes / 1e6;
}

void BM_Ring(benchmark::State& state) {
  simulate(state, {.workload = "resnet9", .workers = state.range(0), .batch = 32 * state.range(0)});
}
BENCHMARK(BM_Ring)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void BM_AsynchronousServer(benchmark::State& state) {
  simulate(state, {.workload = "resnet9",
                   .strategy = "parameter_server_async",
                   .workers = state.range(0),
                   .servers = 1,
                   .batch = 32 * state.range(0)});
}
BENCHMARK(BM_AsynchronousServer)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

/// Measures time and memory from the workload to the end of two steps, for a model of GPT-3's size
/// over 1,024 devices: 8 shards x 16 stages x 8 replicas, with one replica and one shard built.
void BM_AlikeGpt(benchmark::State& state) {
  const std::int64_t microbatches = state.range(0);
  const auto number = [](std::int64_t value) { return OptionValue(value); };
  const testing_support::VirtualCase test{.workload = "gpt_tiny",
                                          .strategy = "all_reduce+pipeline+tensor_parallel",
                                          .workers = 8,
                                          .stages = 16,
                                          .options = {{"layers", number(96)},
                                                      {"width", number(12288)},
                                                      {"heads", number(96)},
                                                      {"context", number(2048)},
                                                      {"vocabulary", number(51200)},
                                                      {"microbatches", number(microbatches)}},
                                          .batch = 8 * microbatches,
                                          .processes = 1024,
                                          .shards = 8,
                                          .alike = {.replicas = 8, .shards = 8}};
  for (auto _ : state) {
    const double before = bytes_in_use();
    std::vector<Step> parts = testing_support::parts_of(test);
    const double placed = bytes_in_use();
    const Program program = make_program(parts, testing_support::costs_of(parts, 1e5), 1);
    parts = {};
    const Cluster cluster = testing_support::cluster_of(128, 25, 5'000);
    SimulationOptions options;
    for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p / 8);
    Simulation simulation(program, cluster, options);
    simulation.advance_to(2 * program.global_batch);
    state.counters["placed_MB"] = (placed - before) / 1e6;
    state.counters["simulated_MB"] = (bytes_in_use() - before) / 1e6;
    state.counters["events_a_step"] = static_cast<double>(simulation.events()) / 2;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  state.counters["peak_MB"] = static_cast<double>(used.ru_maxrss) / 1e3;
}
BENCHMARK(BM_AlikeGpt)->Arg(8)->Arg(96)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace regatta::virtual_time

BENCHMARK_MAIN();
