// SPDX-License-Identifier: Apache-2.0
//
// Strategies that send values between the ranks of a real mpirun, each rank with its own part of
// the graph: parameters and losses have the bits of one process, transports count the bytes
// computed from the graph, and a step allocates no memory. Every rank runs every test; one rank
// computes the results of one process.
#include <gtest/gtest.h>

#include <array>

#include "kernels/comm/mpi/participant_for_test.h"
#include "kernels/comm/mpi/reference_runs_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"

namespace regatta::comm {
namespace {

using testing_support::data_of;
using testing_support::Parameters;
using testing_support::Participant;
using testing_support::ReferenceRuns;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

MpiSession* session = nullptr;
ReferenceRuns* reference_runs = nullptr;

enum class Dealt { Replicas, Stages, Both };  // Both: two stages

struct Case {
  std::string strategy;
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  Dealt dealt = Dealt::Replicas;  ///< contiguously to all ranks; the host is at the first
  std::string workload = "parabola";
  std::int64_t global_batch = 49;
  ElementType element = ElementType::F32;
  std::string schedule = {};  ///< for a pipeline
  std::int64_t microbatches = 0;
  std::string shard = {};     ///< for sharded
  std::int64_t overlap = -1;  ///< for gossip

  bool small() const { return workload == "parabola"; }
};

TrialOptions options_of(const Case& test) {
  TrialOptions options;
  options.strategy = test.strategy;
  options.options.replicas = test.replicas;
  options.options.stages = test.stages;
  if (!test.schedule.empty()) {
    options.options.given["schedule"] = test.schedule;
    options.options.given["microbatches"] = test.microbatches;
  }
  if (!test.shard.empty()) options.options.given["shard"] = test.shard;
  if (test.overlap >= 0) options.options.given["overlap"] = test.overlap;
  options.steps = test.small() ? 50 : 3;
  return options;
}

Step step_of(const Case& test) {
  return training_of(test.workload, test.global_batch, options_of(test).steps, test.element);
}

int part_with(std::int64_t index, std::int64_t size) {
  int part = 0;
  while (share(size, session->size(), part).end <= index) ++part;
  return part;
}

Binding binding_of(const Case& test) {
  return {.processes = session->size(), .process_of = [&test](const Place& place) {
            if (place.role == Role::Host) return 0;
            if (test.dealt == Dealt::Both) return 2 * place.replica + place.stage;
            return test.dealt == Dealt::Replicas ? part_with(place.replica, test.replicas)
                                                 : part_with(place.stage, test.stages);
          }};
}

/// This rank's part of a run, which may continue up to `most_steps`.
Participant part_here(const Case& test, std::int64_t most_steps = 0) {
  return {*session,
          {.workload = test.workload,
           .step = step_of(test),
           .options = options_of(test),
           .binding = binding_of(test),
           .most_steps = most_steps}};
}

/// All variables of this process, by place and name.
Parameters variables_of(Executor& executor) {
  return testing_support::variables_of(executor, [](const Variable&) { return true; });
}

/// Each schedule with one order of microbatches at each stage; more stages than ranks, in uneven
/// shares; more microbatches than stages; replicas in ranks of their own, and replicas with stages
/// in several ranks.
void add_pipelines(std::vector<Case>& all) {
  const std::int64_t ranks = session->size();
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    const bool interleaves = std::string(schedule) == "interleaved";
    const Case staged{.strategy = "pipeline", .dealt = Dealt::Stages, .schedule = schedule};
    for (std::int64_t stages = ranks; stages <= (interleaves ? 2 : 3); ++stages) {
      Case points = staged;
      points.stages = stages;
      points.microbatches = 2 * stages;
      all.push_back(points);
      points.strategy = "all_reduce+pipeline";
      points.replicas = 2;
      points.microbatches = stages;
      all.push_back(points);
    }
    Case images = staged;
    images.workload = "resnet9_narrow";
    images.global_batch = 40;
    images.stages = images.microbatches = ranks;
    all.push_back(images);
    if (ranks != 4) {
      Case longer = images;  // ten groups of examples
      longer.stages = ranks == 2 && !interleaves ? 3 : ranks;
      longer.microbatches = 3 * ranks;
      all.push_back(longer);
    }
    images.strategy = "all_reduce+pipeline";
    images.dealt = Dealt::Replicas;
    images.replicas = ranks == 4 ? 4 : 2;
    images.stages = images.microbatches = 2;
    all.push_back(images);
    images.dealt = ranks == 4 ? Dealt::Both : Dealt::Stages;
    images.replicas = 2;
    images.microbatches = 4;
    all.push_back(images);
    images.strategy = "sharded+pipeline";
    for (const char* shard : {"optimizer", "gradients", "parameters"}) {
      images.shard = shard;
      all.push_back(images);
    }
  }
}

/// Shards in ranks of their own, and several in one rank; uneven shares of five channels; replicas
/// with shards in several ranks.
void add_shards(std::vector<Case>& all) {
  const std::int64_t ranks = session->size();
  for (std::int64_t shards = ranks; shards <= 5; ++shards) {
    all.push_back({.strategy = "tensor_parallel", .stages = shards, .dealt = Dealt::Stages});
  }
  Case images{.strategy = "tensor_parallel",
              .stages = ranks,
              .dealt = Dealt::Stages,
              .workload = "resnet9_narrow",
              .global_batch = 40};
  all.push_back(images);
  images.strategy = "all_reduce+tensor_parallel";
  images.replicas = 2;
  all.push_back(images);
  images.stages = 2;
  images.replicas = ranks == 4 ? 2 : ranks;
  images.dealt = ranks == 4 ? Dealt::Both : Dealt::Replicas;
  all.push_back(images);
}

/// Uneven shares of replicas, of stages and of the batch among them.
std::vector<Case> cases() {
  const std::int64_t ranks = session->size();
  std::vector<Case> all;
  for (const char* strategy : {"in_graph", "central_storage"}) {
    for (std::int64_t replicas : {ranks, ranks + 1, 2 * ranks}) {
      all.push_back({.strategy = strategy, .replicas = replicas});
    }
    all.push_back(
        {.strategy = std::string(strategy) + "+model_parallel", .replicas = ranks, .stages = 2});
  }
  for (const std::int64_t overlap : {0, 1}) {
    all.push_back({.strategy = "gossip", .replicas = ranks, .overlap = overlap});
    all.push_back({.strategy = "gossip", .replicas = 2 * ranks + 1, .overlap = overlap});
    all.push_back({.strategy = "gossip",
                   .replicas = ranks,
                   .workload = "resnet9_narrow",
                   .global_batch = 40,
                   .overlap = overlap});
  }
  // The parabola has three layers.
  for (std::int64_t stages = ranks; stages <= 3; ++stages) {
    all.push_back({.strategy = "model_parallel", .stages = stages, .dealt = Dealt::Stages});
    all.push_back({.strategy = "all_reduce+model_parallel",
                   .replicas = 3,
                   .stages = stages,
                   .dealt = Dealt::Stages});
    all.push_back({.strategy = "in_graph+model_parallel",
                   .replicas = 2,
                   .stages = stages,
                   .dealt = Dealt::Stages});
  }
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    if (!cpu::why_cpu_lacks(element).empty()) continue;
    const Case images{
        .strategy = "", .workload = "resnet9_narrow", .global_batch = 40, .element = element};
    for (const char* strategy : {"in_graph", "central_storage"}) {
      Case& test = all.emplace_back(images);
      test.strategy = strategy;
      test.replicas = std::min<std::int64_t>(ranks + 1, 5);
    }
    Case& staged = all.emplace_back(images);
    staged.strategy = "model_parallel";
    staged.stages = ranks + 1;
    staged.dealt = Dealt::Stages;
    Case& composed = all.emplace_back(staged);
    composed.strategy = "all_reduce+model_parallel";
    composed.replicas = 2;
  }
  add_pipelines(all);
  add_shards(all);
  return all;
}

std::string text(const Case& test) {
  const std::string overlap = test.overlap < 0 ? "" : " overlap " + std::to_string(test.overlap);
  const std::string microbatches =
      test.microbatches == 0 ? "" : ' ' + std::to_string(test.microbatches) + " microbatches";
  constexpr std::array kDealt{" dealt by replicas in ", " dealt by stages in ", " dealt in "};
  return test.workload + ", " + test.strategy + ' ' + test.shard + ' ' + test.schedule +
         microbatches + overlap + ", " + std::to_string(test.replicas) + " x " +
         std::to_string(test.stages) + kDealt.at(static_cast<std::size_t>(test.dealt)) +
         std::to_string(session->size()) + " processes, " + std::string(to_string(test.element));
}

void compute_references(const std::vector<Case>& cases) {
  std::vector<std::pair<std::string, ReferenceRuns::Run>> runs;
  for (const Case& test : cases) {
    runs.emplace_back(text(test), [&test] {
      Trial together(step_of(test), data_of(test.workload), options_of(test));
      return variables_of(together.executor());
    });
  }
  reference_runs->compute(runs);
}

TEST(PlacedOverProcesses, HasTheBitsOfOneProcessAndMovesTheBytesThatTheGraphSays) {
  const std::vector<Case> all = cases();
  compute_references(all);
  for (const Case& test : all) {
    SCOPED_TRACE(text(test));
    Participant here = part_here(test);
    const Parameters& expected = reference_runs->of(text(test));
    for (const auto& [key, values] : variables_of(here.executor())) {
      EXPECT_EQ(values, expected.at(key)) << key;
    }
    const std::int64_t steps = options_of(test).steps;
    const auto counted = here.counted();
    const auto computed = traffic(here.graph(), steps);
    EXPECT_EQ(counted.size(), computed.size());
    for (const auto& [place, run] : computed) {
      EXPECT_EQ(counted.at(place).sent, run.sent) << to_string(place);
      EXPECT_EQ(counted.at(place).received, run.received) << to_string(place);
      EXPECT_EQ(counted.at(place).messages, run.messages) << to_string(place);
    }
  }
}

/// Starting and ending a part of a run allocates, so a long part is compared with a short one.
TEST(PlacedOverProcesses, AllocatesNothingInAStep) {
  constexpr std::int64_t kFew = 5, kMany = 45;
  for (const Case& test : cases()) {
    if (!test.small()) continue;
    SCOPED_TRACE(text(test));
    Participant here = part_here(test, 50 + kFew + kMany);
    const std::int64_t of_few = here.allocations_of(kFew);
    EXPECT_EQ(here.allocations_of(kMany), of_few);
  }
}

}  // namespace
}  // namespace regatta::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  regatta::comm::MpiSession session;
  regatta::comm::session = &session;
  regatta::testing_support::ReferenceRuns runs(session);
  regatta::comm::reference_runs = &runs;
  return RUN_ALL_TESTS();
}
