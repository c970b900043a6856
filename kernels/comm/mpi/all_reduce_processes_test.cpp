// SPDX-License-Identifier: Apache-2.0
//
// all_reduce, sharded, and averages of local_sgd and diloco, between the ranks of a real mpirun,
// each with its own part of the graph: training follows the results of one process, bit by bit if
// the order of sums is the same, moves the bytes computed from the graph, and allocates no memory
// in a step. Every rank runs every test; one rank computes the results of one process.
#include <gtest/gtest.h>

#include "kernels/comm/mpi/participant_for_test.h"
#include "kernels/comm/mpi/reference_runs_for_test.h"
#include "kernels/cpu/amx.h"
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

struct Case {
  std::string workload = "parabola";
  std::string strategy = "all_reduce";
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::int64_t global_batch = 49;
  std::string algorithm = "ring";
  ElementType element = ElementType::F32;
  std::string shard = "optimizer";  ///< for sharded
  bool streams = false;             ///< for diloco

  bool small() const { return workload == "parabola"; }
};

TrialOptions options_of(const Case& test) {
  TrialOptions options;
  options.strategy = test.strategy;
  options.options.replicas = test.workers;
  options.options.stages = test.stages;
  if (test.strategy.starts_with("sharded")) {
    options.options.given["shard"] = test.shard;
  } else {
    options.options.given["all_reduce"] = test.algorithm;
  }
  options.options.given["sync_every"] = test.streams ? 4 : 3;  // for local_sgd
  if (test.streams) {
    options.options.given["fragments"] = 2;
    options.options.given["delay"] = 1;
    options.options.given["mix"] = 0.5;
  }
  options.options.given["rank"] = 1;     // for powersgd
  options.options.given["share"] = 0.1;  // for top_k
  // Small buckets, so that several are under way at once.
  options.options.given["bucket_bytes"] = test.small() ? 64 : 16 << 10;
  options.steps = test.small() ? 50 : 3;
  return options;
}

Step step_of(const Case& test) {
  return training_of(test.workload, test.global_batch, options_of(test).steps, test.element);
}

/// Divides the workers among all ranks in contiguous shares.
Binding binding_of(const Case& test) {
  return {.processes = session->size(), .process_of = [&test](const Place& place) {
            int process = 0;
            while (share(test.workers, session->size(), process).end <= place.replica) ++process;
            return process;
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

std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

/// The parameters of this process's replicas, by place and name.
Parameters parameters(Executor& executor) {
  return testing_support::variables_of(
      executor, [](const Variable& variable) { return variable.kind == VariableKind::Parameter; });
}

/// Cases with one worker for each rank, one worker more, and two for each rank.
std::vector<Case> cases(const std::string& algorithm) {
  const std::int64_t ranks = session->size();
  std::vector<Case> all;
  for (std::int64_t workers : {ranks, ranks + 1, 2 * ranks}) {
    all.push_back({.workers = workers, .algorithm = algorithm});
  }
  for (const char* periodic : {"local_sgd", "diloco"}) {
    all.push_back({.strategy = periodic, .workers = ranks + 1, .algorithm = algorithm});
  }
  all.push_back(
      {.strategy = "diloco", .workers = ranks + 1, .algorithm = algorithm, .streams = true});
  for (const char* compressed :
       {"all_reduce+powersgd", "all_reduce+top_k", "all_reduce+bf16_compress"}) {
    all.push_back({.strategy = compressed, .workers = ranks + 1, .algorithm = algorithm});
  }
  all.push_back({.strategy = "all_reduce+model_parallel",
                 .workers = ranks,
                 .stages = 2,
                 .algorithm = algorithm});
  for (const std::string shard : {"optimizer", "gradients", "parameters"}) {
    if (algorithm != kRing) continue;
    all.push_back({.strategy = "sharded", .workers = ranks + 1, .shard = shard});
    all.push_back({.workload = "resnet9_narrow",
                   .strategy = "sharded",
                   .workers = ranks,
                   .global_batch = 40,
                   .shard = shard});
  }
  for (const char* compressed : {"sharded+powersgd", "sharded+top_k"}) {
    if (algorithm != kRing) continue;
    all.push_back({.strategy = compressed, .workers = ranks + 1, .shard = "parameters"});
  }
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    if (!cpu::why_cpu_lacks(element).empty()) continue;
    all.push_back({.workload = "resnet9_narrow",
                   .workers = std::min<std::int64_t>(ranks + 1, 5),
                   .global_batch = 40,
                   .algorithm = algorithm,
                   .element = element});
  }
  return all;
}

/// Removes the algorithms that need other processes if there are none.
std::vector<std::string_view> available(std::vector<std::string_view> algorithms) {
  if (session->size() == 1) std::erase(algorithms, kMpi);
  return algorithms;
}

std::string text(const Case& test) {
  return test.workload + ", " + test.strategy + (test.streams ? " streaming" : "") + " (" +
         test.shard + ") by " + test.algorithm + ", " + std::to_string(test.workers) +
         " workers in " + std::to_string(session->size()) + " processes, " +
         std::string(to_string(test.element));
}

/// Computes the parameters of each case in one process.
void compute_references(const std::vector<Case>& cases) {
  std::vector<std::pair<std::string, ReferenceRuns::Run>> runs;
  for (const Case& test : cases) {
    runs.emplace_back(text(test), [&test] {
      Trial together(step_of(test), data_of(test.workload), options_of(test));
      return parameters(together.executor());
    });
  }
  reference_runs->compute(runs);
}

void expect_bytes_of_graph(const Participant& here, const Case& test) {
  const auto counted = here.counted();
  for (const auto& [place, all] : traffic(here.graph(), options_of(test).steps)) {
    if (all.received == 0) continue;
    EXPECT_EQ(counted.at(place).sent, all.sent) << to_string(place);
    EXPECT_EQ(counted.at(place).received, all.received) << to_string(place);
    EXPECT_EQ(counted.at(place).messages, all.messages) << to_string(place);
  }
}

TEST(AllReduceOverProcesses, ComputesTheBitsOfOneProcessAndMovesTheBytesThatTheGraphSays) {
  for (const std::string_view algorithm : {kRing, kReduceToOne, kDoubleTree, kTorus}) {
    std::vector<Case> all = cases(std::string(algorithm));
    if (algorithm == kDoubleTree || algorithm == kTorus) {  // images only in f32
      std::erase_if(all, [](const Case& test) { return test.element == ElementType::BF16; });
    }
    compute_references(all);
    for (const Case& test : all) {
      SCOPED_TRACE(text(test));
      Participant here = part_here(test);
      const Parameters& expected = reference_runs->of(text(test));
      const Parameters found = parameters(here.executor());
      EXPECT_FALSE(found.empty());
      for (const auto& [key, values] : found) EXPECT_EQ(values, expected.at(key)) << key;
      expect_bytes_of_graph(here, test);
    }
  }
}

/// The same step with all_reduce, where every replica owns all parameters.
Case whole_of(Case sharded) {
  sharded.strategy = "all_reduce";
  sharded.shard = {};
  return sharded;
}

TEST(ShardedOverProcesses, HasItsSharesOfAllReducesBits) {
  std::vector<Case> all = cases(std::string(kRing)), whole;
  std::erase_if(all, [](const Case& test) { return test.strategy != "sharded"; });
  for (const Case& test : all) whole.push_back(whole_of(test));
  compute_references(whole);
  for (const Case& test : all) {
    SCOPED_TRACE(text(test));
    Participant here = part_here(test);
    const Parameters& expected = reference_runs->of(text(whole_of(test)));
    const Graph& graph = here.graph();
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      const Variable& variable = graph.variable(v);
      if (variable.kind != VariableKind::Parameter) continue;
      const std::string key = to_string(Place{}) + ' ' + variable.whole_name();
      std::vector<float> wanted;
      for (const Stretch& each : variable.stretches()) {
        const auto begin = expected.at(key).begin() + each.in_whole;
        wanted.insert(wanted.end(), begin, begin + each.count);
      }
      EXPECT_EQ(values_of(here.executor().variable(v).tensor), wanted) << variable.name;
    }
  }
}

/// Each of n - 1 additions is rounded by at most 2^-8, in either order.
double bf16_bound_of(const Case& test) {
  return 2 * static_cast<double>(test.workers - 1) * 0x1p-8;
}

/// Bound for sums in another order, for each tensor; the bounds in equivalence_test.cpp are for all
/// tensors together. With AMX shifts differ by 2.4e-3 in bf16.
double bound_of(const Case& test) {
  if (test.strategy == "all_reduce+bf16_compress") return bf16_bound_of(test);
  if (test.small()) return 1e-6;
  return test.element == ElementType::BF16 && cpu::has_amx_bf16() ? 1e-2 : 2e-3;
}

TEST(AllReduceOverProcesses, FollowsOneProcessWhereSumsHaveAnotherOrder) {
  compute_references(cases(std::string(kRing)));
  for (const std::string_view algorithm : available({kHierarchicalCopy, kMpi})) {
    for (Case test : cases(std::string(algorithm))) {
      SCOPED_TRACE(text(test));
      Participant here = part_here(test);
      expect_bytes_of_graph(here, test);
      test.algorithm = kRing;
      const Parameters& expected = reference_runs->of(text(test));
      for (const auto& [key, values] : parameters(here.executor())) {
        const double difference =
            testing_support::relative_difference({{"", values}}, {{"", expected.at(key)}});
        EXPECT_LT(difference, bound_of(test)) << key;
      }
    }
  }
}

/// Starting and ending a part of a run allocates, so a long part is compared with a short one.
TEST(AllReduceOverProcesses, AllocatesNothingInAStep) {
  constexpr std::int64_t kFew = 5, kMany = 45;
  for (const std::string_view algorithm :
       available({kRing, kReduceToOne, kHierarchicalCopy, kMpi})) {
    for (const char* strategy : {"all_reduce", "sharded"}) {
      if (algorithm != kRing && std::string_view(strategy) == "sharded") continue;
      const Case test{.strategy = strategy,
                      .workers = session->size() + 1,
                      .algorithm = std::string(algorithm)};
      SCOPED_TRACE(text(test));
      Participant here = part_here(test, 50 + kFew + kMany);
      const std::int64_t of_few = here.allocations_of(kFew);
      EXPECT_EQ(here.allocations_of(kMany), of_few);
    }
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
