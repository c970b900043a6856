// SPDX-License-Identifier: Apache-2.0
//
// Strategies between the ranks of a real mpirun, each with its own part of the graph: training
// follows the results of one process, bit by bit if the order of sums is the same, moves the bytes
// computed from the graph, and allocates no memory in a step. Every rank runs every test.
#include <gtest/gtest.h>

#include "kernels/comm/mpi/participant_for_test.h"
#include "kernels/comm/mpi/reference_runs_for_test.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "strategies/equivalence_for_test.h"

namespace regatta::comm {
namespace {

using namespace testing_support;

MpiSession* session = nullptr;
ReferenceRuns* reference_runs = nullptr;

enum class Dealt { Replicas, Stages, Both };  // with the shards of stages; Both: two of these

/// A case of equivalence_for_test.h and how its places are dealt to ranks, contiguously; the host
/// is at the first.
struct Dealing {
  Case test;
  Dealt dealt = Dealt::Replicas;
  bool small() const { return test.workload == "parabola"; }
};
using Dealings = std::vector<Dealing>;

TrialOptions options_of(const Dealing& dealing) {
  TrialOptions options = options_of(dealing.test);
  // Small buckets, so that several are under way at once.
  options.options.given.insert({{"bucket_bytes", dealing.small() ? 64 : 16 << 10},
                                {"sync_every", 3},  // for local_sgd and diloco
                                {"rank", 1},        // for powersgd
                                {"share", 0.1}});   // for top_k
  options.steps = dealing.small() ? 50 : 3;
  return options;
}

Step step_of(const Dealing& dealing) {
  const Case& test = dealing.test;
  return training_of(test.workload, test.global_batch, options_of(dealing).steps, test.element);
}

int part_with(std::int64_t index, std::int64_t size) {
  int part = 0;
  while (share(size, session->size(), part).end <= index) ++part;
  return part;
}

Binding binding_of(const Dealing& dealing) {
  return {.processes = session->size(),
          .process_of = [test = dealing.test, dealt = dealing.dealt](const Place& place) {
            if (place.role == Role::Host) return 0;
            const std::int64_t part = place.stage * test.shards + place.shard;
            if (dealt == Dealt::Both) return 2 * place.replica + static_cast<int>(part);
            return dealt == Dealt::Replicas ? part_with(place.replica, test.replicas)
                                            : part_with(part, test.stages * test.shards);
          }};
}

/// This rank's part of a run, which may continue up to `most_steps`.
Participant part_here(const Dealing& dealing, std::int64_t most_steps = 0) {
  return {*session,
          {.workload = dealing.test.workload,
           .step = step_of(dealing),
           .options = options_of(dealing),
           .binding = binding_of(dealing),
           .most_steps = most_steps}};
}

/// Adds the cases of the element types that this processor has. In `texts`, `R` is the number of
/// ranks, `M` one more.
void add(Dealings& all, Dealt dealt, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    std::string sized;
    for (const char letter : text) {
      const int more = letter == 'M' ? 1 : 0;
      sized += letter == 'R' || letter == 'M' ? std::to_string(session->size() + more)
                                              : std::string(1, letter);
    }
    for (const Case& test : cases_of("", {sized})) {
      if (cpu::why_cpu_lacks(test.element).empty()) all.push_back({test, dealt});
    }
  }
}

/// Sums by `algorithm`, with one replica for each rank, one replica more, and two for each rank.
Dealings summed_by(const std::string_view algorithm) {
  const std::string by = " all_reduce=" + std::string(algorithm);
  Dealings all;
  add(all, Dealt::Replicas,
      {"parabola 49 all_reduce {R,M," + std::to_string(2 * session->size()) + "}" + by,
       "parabola 49 {local_sgd,diloco,all_reduce+powersgd,all_reduce+top_k,"
       "all_reduce+bf16_compress,all_reduce+quantized,diloco+quantized,diloco+top_k} M" +
           by,
       "parabola 49 diloco M sync_every=4 fragments=2 delay=1 mix=0.5" + by,
       "parabola 49 all_reduce+model_parallel Rx2" + by,
       "resnet9_narrow 40 all_reduce M{, bf16}" + by});
  return all;
}

Dealings sharded() {
  Dealings all;
  add(all, Dealt::Replicas,
      {"{parabola 49 sharded M,resnet9_narrow 40 sharded R} shard={optimizer,gradients,parameters}",
       "resnet9_narrow 40 sharded R shard=parameters recompute=full",
       "parabola 49 sharded M shard=parameters reshard_after_forward=no",
       "parabola 49 sharded+{powersgd,top_k,quantized} M shard=parameters"});
  return all;
}

/// Each schedule with one order of microbatches at each stage; more stages than ranks, in uneven
/// shares; more microbatches than stages; replicas in ranks of their own, and replicas with stages
/// in several ranks. The model has ten groups of examples.
void add_pipelines(Dealings& all) {
  const int ranks = session->size();
  for (const std::string name : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    const bool interleaves = name == "interleaved";
    const std::string by = " schedule=" + name + " microbatches=";
    for (int s = ranks; s <= (interleaves ? 2 : 3); ++s) {
      const std::string stages = std::to_string(s);
      add(all, Dealt::Stages,
          {"parabola 49 pipeline 1x" + stages + by + std::to_string(2 * s),
           "parabola 49 all_reduce+pipeline 2x" + stages + by + stages});
    }
    const std::string images = "resnet9_narrow 40 ";
    add(all, Dealt::Stages, {images + "pipeline 1xR" + by + "R{, recompute=full}"});
    if (ranks != 4) {
      const std::string stages = ranks == 2 && !interleaves ? "3" : "R";
      add(all, Dealt::Stages, {images + "pipeline 1x" + stages + by + std::to_string(3 * ranks)});
    }
    add(all, Dealt::Replicas,
        {images + "all_reduce+pipeline " + (ranks == 4 ? "4" : "2") + "x2" + by + "2"});
    add(all, ranks == 4 ? Dealt::Both : Dealt::Stages,
        {images + "all_reduce+pipeline 2x2" + by + "4",
         images + "sharded+pipeline 2x2 shard={optimizer,gradients,parameters}" + by + "4"});
  }
}

/// Shards in ranks of their own, and several in one rank; uneven shares of five channels, and of a
/// vocabulary of 16; replicas with shards in several ranks.
void add_shards(Dealings& all) {
  const int ranks = session->size();
  for (int shards = ranks; shards <= 5; ++shards) {
    add(all, Dealt::Stages, {"parabola 49 tensor_parallel 1x1x" + std::to_string(shards)});
  }
  add(all, Dealt::Stages,
      {"resnet9_narrow 40 {tensor_parallel 1x1xR,all_reduce+tensor_parallel 2x1xR}",
       "parabola 49 all_reduce+pipeline+tensor_parallel 2x2x2 microbatches=3"});
  add(all, ranks == 4 ? Dealt::Both : Dealt::Replicas,
      {std::string("resnet9_narrow 40 all_reduce+tensor_parallel ") + (ranks == 4 ? "2" : "R") +
       "x1x2"});
  if (ranks <= 3) add(all, Dealt::Stages, {"gpt_narrow 40 tensor_parallel 1x1x3"});
  for (int shards = std::max(2, ranks); shards <= 4; ++shards) {
    add(all, Dealt::Stages,
        {"gpt_context 40 tensor_parallel 1x1x" + std::to_string(shards) +
         " sequence_parallel=yes"});
  }
  const std::string tokens = ranks == 2 ? "4" : "R";
  const bool has_bf16 = cpu::why_cpu_lacks(ElementType::BF16).empty();
  add(all, Dealt::Stages,
      {"gpt_context 40 context_parallel 1x1x" + tokens + " context_exchange={ring,ulysses}{, bf16}",
       "llama_context 40 all_reduce+context_parallel 2x1x" + tokens +
           " context_exchange={ring,ulysses} microbatches=3" + (has_bf16 ? " bf16" : "")});
}

/// Strategies that send values; uneven shares of replicas, of stages and of the batch among them.
/// The parabola has three layers.
Dealings placed() {
  const int ranks = session->size();
  const std::string twice = std::to_string(2 * ranks), odd = std::to_string(2 * ranks + 1);
  Dealings all;
  add(all, Dealt::Replicas,
      {"parabola 49 {in_graph,central_storage} {R,M," + twice + "}",
       "parabola 49 {in_graph,central_storage}+model_parallel Rx2",
       "resnet9_narrow 40 {in_graph,central_storage} M{, bf16}",
       "parabola 49 gossip {R," + odd + "} overlap={0,1}",
       "resnet9_narrow 40 gossip R overlap={0,1}"});
  for (int stages = ranks; stages <= 3; ++stages) {
    const std::string by = std::to_string(stages);
    add(all, Dealt::Stages,
        {"parabola 49 {model_parallel 1,in_graph+model_parallel 2,all_reduce+model_parallel 3}x" +
         by});
  }
  add(all, Dealt::Stages,
      {"resnet9_narrow 40 {model_parallel 1xM,all_reduce+model_parallel 2xM}{, bf16}"});
  add_pipelines(all);
  add_shards(all);
  return all;
}

std::string text(const Dealing& dealing) {
  return name_of(dealing.test) + " dealt to " + std::to_string(session->size()) +
         " processes by rule " + std::to_string(static_cast<int>(dealing.dealt));
}

bool all_variables(const Variable&) { return true; }

/// Computes the variables of each case in one process.
void compute_references(const Dealings& cases) {
  std::vector<std::pair<std::string, ReferenceRuns::Run>> runs;
  for (const Dealing& test : cases) {
    runs.emplace_back(text(test), [&test] {
      Trial together(step_of(test), data_of(test.test.workload), options_of(test));
      return variables_of(together.executor(), all_variables);
    });
  }
  reference_runs->compute(runs);
}

void expect_bytes_of_graph(const Participant& here, const Dealing& test) {
  TrafficByPlace counted = here.counted();
  const TrafficByPlace computed = traffic(here.graph(), options_of(test).steps);
  for (const auto& [place, all] : computed) {
    EXPECT_EQ(counted[place].sent, all.sent) << to_string(place);
    EXPECT_EQ(counted[place].received, all.received) << to_string(place);
    EXPECT_EQ(counted[place].messages, all.messages) << to_string(place);
  }
  EXPECT_EQ(counted.size(), computed.size());
}

TEST(ProcessesOfTraining, HaveTheBitsOfOneProcessAndMoveTheBytesThatTheGraphSays) {
  Dealings all = placed();
  for (const Dealing& test : sharded()) all.push_back(test);
  for (const std::string_view algorithm : {kRing, kReduceToOne, kDoubleTree, kTorus}) {
    const bool in_f32_only = algorithm == kDoubleTree || algorithm == kTorus;
    for (const Dealing& test : summed_by(algorithm)) {
      if (!in_f32_only || test.test.element == ElementType::F32) all.push_back(test);
    }
  }
  compute_references(all);
  for (const Dealing& test : all) {
    SCOPED_TRACE(text(test));
    Participant here = part_here(test);
    const Parameters& expected = reference_runs->of(text(test));
    const Parameters found = variables_of(here.executor(), all_variables);
    const bool has_replicas = test.dealt == Dealt::Replicas &&
                              test.test.replicas >= session->size() &&
                              !test.test.strategy.starts_with("in_graph") &&
                              !test.test.strategy.starts_with("central_storage");
    EXPECT_TRUE(!has_replicas || !found.empty());
    for (const auto& [key, values] : found) EXPECT_EQ(values, expected.at(key)) << key;
    expect_bytes_of_graph(here, test);
  }
}

/// Bound for sums in another order, for each tensor; the bounds in equivalence_test.cpp are for all
/// tensors together. With AMX shifts differ by 2.4e-3 in bf16.
double bound_of(const Dealing& test) {
  // Each of n - 1 additions is rounded by at most 2^-8, in either order.
  const double rounded = 2 * static_cast<double>(test.test.replicas - 1) * 0x1p-8;
  if (test.test.strategy == "all_reduce+bf16_compress") return rounded;
  if (test.small()) return 1e-6;
  return test.test.element == ElementType::BF16 && cpu::has_amx_bf16() ? 1e-2 : 2e-3;
}

TEST(ProcessesOfTraining, FollowOneProcessWhereSumsHaveAnotherOrder) {
  const Dealings by_ring = summed_by(kRing);
  compute_references(by_ring);
  for (const std::string_view algorithm : {kHierarchicalCopy, kMpi}) {
    for (Dealing test : by_ring) {
      const Parameters& expected = reference_runs->of(text(test));
      test.test.options["all_reduce"] = std::string(algorithm);
      SCOPED_TRACE(text(test));
      Participant here = part_here(test);
      expect_bytes_of_graph(here, test);
      const Parameters found = variables_of(
          here.executor(), [](const Variable& v) { return v.kind == VariableKind::Parameter; });
      for (const auto& [key, values] : found) {
        const double difference =
            testing_support::relative_difference({{"", values}}, {{"", expected.at(key)}});
        EXPECT_LT(difference, bound_of(test)) << key;
      }
    }
  }
}

/// Starting and ending a part of a run allocates, so a long part is compared with a short one.
TEST(ProcessesOfTraining, AllocateNothingInAStep) {
  constexpr std::int64_t kFew = 5, kMany = 45;
  Dealings all = placed();
  all.push_back(sharded().front());
  for (const std::string_view algorithm : {kRing, kReduceToOne, kHierarchicalCopy, kMpi}) {
    all.push_back(summed_by(algorithm).at(1));
  }
  for (const Dealing& test : all) {
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
