// SPDX-License-Identifier: Apache-2.0
//
// Tests sums and shares by NCCL in the program's ranks.
#include "harness/run/nccl_ranks_for_test.h"

namespace regatta::testing_support {
namespace {

/// The double adds in the order of ranks, like reduce_to_one.
TEST_F(NcclTraining, ComputesTheBitsOfOneProcess) {
  expect_the_bits_of_one_process(request_of("nccl"));
}

TEST_F(NcclTraining, ComputesTheBitsOfOneProcessInsideTheCapturedStep) {
  expect_the_bits_of_one_process(request_of("nccl", "on"));
}

/// The host faults if it touches that memory.
TEST_F(NcclTraining, TouchesTheGpusMemoryInStreamsAlone) {
  hides_memory_ = true;
  expect_the_bits_of_one_process(request_of("nccl"));
}

TEST_F(NcclTraining, TouchesItThereInsideTheCapturedStep) {
  hides_memory_ = true;
  expect_the_bits_of_one_process(request_of("nccl", "on"));
}

TEST_F(NcclTraining, ComputesTheBitsOfOneProcessByShares) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"optimizer", "off"}, {"gradients", "on"}, {"parameters", "off"}, {"parameters", "on"}};
  for (const auto& [shard, graph] : cases) {
    SCOPED_TRACE(shard + ", --cuda-graph " + graph);
    nccl_double::library().inits = nccl_double::library().destroys = 0;
    hides_memory_ = shard == "parameters";
    expect_the_bits_of_one_process(sharded_request(shard, graph));
  }
}

TEST_F(NcclTraining, GathersWhatTopKSelects) {
  for (const std::string graph : {"off", "on"}) {
    RaceRequest request = request_of("ring", graph);
    request.strategy = "all_reduce+top_k";
    request.options["share"] = 0.1;
    nccl_double::library().inits = nccl_double::library().destroys = 0;
    expect_the_bits_of_one_process(request, "all_reduce+top_k");
  }
}

TEST_F(NcclTraining, TellsWhatCarriesShares) {
  for_each_rank(set_up(sharded_request("gradients")), [&](int, LocalTrainer& trainer) {
    std::set<std::string> choices;
    for (const auto& [node, choice] : trainer.report().kernels) choices.insert(choice);
    EXPECT_EQ(choices, (std::set<std::string>{"NCCL 2.28.9, a broadcast from each member",
                                              "NCCL 2.28.9, a reduction to each member"}));
  });
}

TEST_F(NcclTraining, CountsTheBytesOfShares) {
  expect_the_bytes_of_the_graph(sharded_request("parameters"));
  expect_the_bytes_of_the_graph(sharded_request("gradients", "on"));
}

TEST_F(NcclTraining, CountsTheBytesThatTheGraphSays) {
  expect_the_bytes_of_the_graph(request_of("nccl"));
}

TEST_F(NcclTraining, CountsThemInsideTheCapturedStep) {
  expect_the_bytes_of_the_graph(request_of("nccl", "on"));
}

TEST_F(NcclTraining, TellsWhatSumsTheGradients) {
  unsetenv("NCCL_ALGO");
  for (const std::string_view algorithm : {kRing, kNccl}) {
    const PinnedNcclAlgorithm pinned(algorithm);
    const std::string sums =
        algorithm == kRing ? "NCCL 2.28.9, held to its ring" : "NCCL 2.28.9, as it chooses";
    for_each_rank(set_up(request_of(std::string(algorithm))), [&](int, LocalTrainer& trainer) {
      const std::set<KernelChoice> kernels = trainer.report().kernels;
      EXPECT_GT(kernels.size(), 1U);  // for its buckets; the CPU's kernels have no choices
      for (const auto& [node, choice] : kernels) {
        EXPECT_EQ(node.find("all_reduce "), 0U) << node;
        EXPECT_EQ(choice, sums);
      }
    });
  }
}

TEST_F(NcclTraining, EndsWithTheReasonWhenARankIsLostThatItWaitsFor) {
  expect_an_end_with_the_reason(request_of("ring"));
}

/// NCCL does not return from an abort before the graphs that hold its work are destroyed.
TEST_F(NcclTraining, EndsSoInsideTheCapturedStepWithoutAGraphThatHoldsACommunicator) {
  expect_an_end_with_the_reason(request_of("ring", "on"));
}

TEST_F(NcclTraining, EndsWhereNcclSeesThatARankIsLostInsideTheCapturedStep) {
  unsetenv("NCCL_ALGO");
  const PinnedNcclAlgorithm pinned(kRing);
  options_.close_limit_ns = kShortNs;
  std::latch ended(1);
  for_each_rank(set_up(request_of("ring", "on")), [&](int rank, LocalTrainer& trainer) {
    if (rank > 0) return ended.wait();
    std::thread sees([] { nccl_double::library().lose(1); });
    const RunError error = error_of([&] { trainer.advance_to(kExamples); });
    sees.join();
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    EXPECT_EQ(
        std::string(error.what())
            .find("step 0 on replica0: all_reduce by NCCL, member 0 of 3 in process 0: remote "
                  "process exited"),
        0U)
        << error.what();
    ended.count_down();
  });
}

}  // namespace
}  // namespace regatta::testing_support
