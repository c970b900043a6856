// SPDX-License-Identifier: Apache-2.0
//
// all_reduce by NCCL as the program's ranks run it: here each rank is a thread, with doubles of a
// GPU and of NCCL; everything above the table of NCCL's calls is the program's own code. Also the
// messages about such runs, at their start and in their records.
#include <gtest/gtest.h>

#include <cstdlib>
#include <latch>

#include "harness/make_trainer.h"
#include "harness/plan/cell.h"
#include "harness/plan/fingerprint.h"
#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/local_trainer.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/comm/nccl/nccl_members_for_test.h"
#include "kernels/cuda/device/hidden_memory_for_test.h"
#include "kernels/runtime/devices.h"
#include "workloads/data/shapes.h"

namespace regatta {
namespace {

using testing_support::defer_kernels;
using testing_support::error_of;
using testing_support::GpuDouble;
using testing_support::Meeting;
using testing_support::ThreadRendezvous;

constexpr int kRanks = 3;
constexpr std::int64_t kExamples = 96;

const DataSet& images() {
  static const DataSet data = make_shapes(20, Split::Train, kExamples);
  return data;
}

RaceRequest request_of(const std::string& algorithm, const std::string& cuda_graph = "off") {
  RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "all_reduce";
  request.device = "cuda";
  request.options["all_reduce"] = algorithm;
  request.workers = kRanks;
  request.processes = kRanks;
  request.global_batch = kExamples / 2;
  request.steps = 2;
  request.options["bucket_bytes"] = 64 << 10;  // several, the last of them a small one
  request.cuda_graph = cuda_graph;
  return request;
}

/// With memory that only its streams touch, NCCL's work included.
class HiddenGpu final : public cuda::testing_support::HiddenDevice {
 public:
  explicit HiddenGpu(int number) : number_(number) {}
  std::unique_ptr<LaneQueue> make_queue() override {
    auto queue = std::make_unique<testing_support::StreamQueue>(number_);
    queue->surround([this](const std::function<void()>& work) {
      const cuda::testing_support::HiddenMemory::Opened opened(&memory());
      work();
    });
    return queue;
  }
  std::unique_ptr<StepRecorder> make_recorder() override {
    return std::make_unique<testing_support::StreamRecorder>();
  }

 private:
  int number_;
};

/// What the coordinator and every rank make of a request.
struct RunParts {
  RaceRequest request;
  Placement placement;
  std::vector<Step> parts;
};

RunParts set_up(const RaceRequest& request, std::int64_t train_examples = kExamples) {
  RunParts made{.request = request, .placement = place(request, train_examples), .parts = {}};
  made.placement.recipe.data_weights = data_weights_of(*made.placement.workload, images());
  made.parts = partition(placed_step(made.placement), binding_of(made.placement));
  return made;
}

std::unique_ptr<LocalTrainer> trainer_of(const RunParts& setup, int process,
                                         std::unique_ptr<Backend> backend) {
  const Step& part = setup.parts.at(static_cast<std::size_t>(process));
  return std::make_unique<LocalTrainer>(
      part, std::move(backend), executor_options(setup.request, setup.placement, images(), process),
      process);
}

using Values = std::map<std::pair<Place, std::string>, std::vector<float>>;

Values values_of(LocalTrainer& trainer) {
  Values all;
  for (const VariableCopy& copy : trainer.variables(Copies::All)) {
    const float* first = copy.tensor.f32();
    all[{copy.variable->place, copy.variable->name}] = {first, first + copy.tensor.elements()};
  }
  return all;
}

class NcclTraining : public testing_support::Nccl {
 protected:
  /// Runs body(rank, trainer) on a thread for each rank, once all are connected.
  void for_each_rank(const RunParts& setup, const std::function<void(int, LocalTrainer&)>& body) {
    Meeting meeting;
    meeting.processes = setup.placement.processes;
    std::latch connected(meeting.processes);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < meeting.processes; ++rank) {
      threads.emplace_back([&, rank] {
        const auto trainer = trainer_of(setup, rank, backend_of(setup, meeting, rank));
        trainer->connect();
        connected.arrive_and_wait();  // as a coordinator has them wait for each other
        body(rank, *trainer);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// Each rank's variables are those of one process on the CPU.
  void expect_the_bits_of_one_process(RaceRequest request) {
    const RunParts setup = set_up(request);
    request = request_of("reduce_to_one");
    request.device = "cpu";
    request.winograd = "off";  // as on a GPU
    request.processes = 1;
    const auto together = trainer_of(set_up(request), 0, make_backend("cpu"));
    together->advance_to(kExamples);
    const Values expected = values_of(*together);
    for_each_rank(setup, [&](int, LocalTrainer& trainer) {
      trainer.advance_to(kExamples);
      const Values found = values_of(trainer);
      EXPECT_FALSE(found.empty());
      for (const auto& [key, values] : found) EXPECT_EQ(values, expected.at(key)) << key.second;
    });
    EXPECT_EQ(nccl_double::library().inits, kRanks);
    EXPECT_EQ(nccl_double::library().destroys, kRanks);
  }

  void expect_the_bytes_of_the_graph(const RaceRequest& request) {
    const RunParts setup = set_up(request);
    for_each_rank(setup, [&](int rank, LocalTrainer& trainer) {
      trainer.advance_to(kExamples);
      const TrafficByPlace counted = trainer.report().traffic;
      for (const auto& [place, step] : traffic(setup.parts[static_cast<std::size_t>(rank)].graph)) {
        EXPECT_GT(step.sent, 0);
        EXPECT_EQ(counted.at(place).sent, 2 * step.sent);
        EXPECT_EQ(counted.at(place).received, 2 * step.received);
        EXPECT_EQ(counted.at(place).messages, 2 * step.messages);
      }
    });
  }

  /// Rank 0 waits for others when it is told that one of them is lost.
  void expect_an_end_with_the_reason(const RaceRequest& request) {
    unsetenv("NCCL_ALGO");
    const PinnedNcclAlgorithm pinned(kRing);              // as the coordinator and every rank begin
    options_.close_limit_ns = testing_support::kShortNs;  // who is left closes in vain
    std::latch ended(1);
    for_each_rank(set_up(request), [&](int rank, LocalTrainer& trainer) {
      if (rank > 0) return ended.wait();
      std::thread hears_of_it([&trainer] {
        nccl_double::library().await_reduction();
        trainer.interrupt({ErrorKind::PeerLost, "rank 1 was lost"});
      });
      const RunError error = error_of([&] { trainer.advance_to(kExamples); });
      hears_of_it.join();
      EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
      EXPECT_EQ(std::string(error.what()), "rank 1 was lost");
      EXPECT_EQ(nccl_double::library().aborts, 1);
      ended.count_down();
    });
  }

  NcclTransportOptions options_{.calls = &calls_};
  bool hides_memory_ = false;

 private:
  /// As make_backend() makes it, but for what the doubles stand in for.
  std::unique_ptr<Backend> backend_of(const RunParts& setup, Meeting& meeting, int rank) const {
    auto backend = std::make_unique<Backend>("cuda");
    add_cpu_kernels(backend->kernels);
    if (hides_memory_) {
      backend->gpus.push_back(std::make_unique<HiddenGpu>(rank));
    } else {
      backend->gpus.push_back(std::make_unique<GpuDouble>(rank));
    }
    const bool defers = hides_memory_ || setup.placement.launch == LaunchSteps::AsOne;
    if (defers) defer_kernels(backend->kernels);
    backend->add(std::make_unique<InProcessTransport>());
    backend->add(std::make_unique<NcclTransport>(std::make_unique<ThreadRendezvous>(meeting, rank),
                                                 options_));
    return backend;
  }

  NcclCalls calls_ = nccl_double::calls();
};

/// The double adds in the order of ranks, as reduce_to_one does.
TEST_F(NcclTraining, ComputesTheBitsOfOneProcess) {
  expect_the_bits_of_one_process(request_of("nccl"));
}

TEST_F(NcclTraining, ComputesTheBitsOfOneProcessInsideTheCapturedStep) {
  expect_the_bits_of_one_process(request_of("nccl", "on"));
}

/// Else the host faults.
TEST_F(NcclTraining, TouchesTheGpusMemoryInStreamsAlone) {
  hides_memory_ = true;
  expect_the_bits_of_one_process(request_of("nccl"));
}

TEST_F(NcclTraining, TouchesItThereInsideTheCapturedStep) {
  hides_memory_ = true;
  expect_the_bits_of_one_process(request_of("nccl", "on"));
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
      EXPECT_GT(kernels.size(), 1U);  // its buckets; the CPU's kernels choose nothing
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

/// NCCL does not come back from an abort before the graphs are gone that hold its work.
TEST_F(NcclTraining, EndsSoInsideTheCapturedStepWithoutAGraphThatHoldsACommunicator) {
  expect_an_end_with_the_reason(request_of("ring", "on"));
}

TEST_F(NcclTraining, EndsWhereNcclSeesThatARankIsLostInsideTheCapturedStep) {
  unsetenv("NCCL_ALGO");
  const PinnedNcclAlgorithm pinned(kRing);
  options_.close_limit_ns = testing_support::kShortNs;
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

/// The collectives of each lane that has any, in its order.
std::map<int, std::vector<std::int64_t>> buckets_by_lane(const Step& part, const Plan& plan) {
  std::map<int, std::vector<std::int64_t>> buckets;
  for (int lane = 0; lane < static_cast<int>(plan.lanes().size()); ++lane) {
    for (const Instruction& next : plan.lanes()[static_cast<std::size_t>(lane)].instructions) {
      const Node& node = part.graph.node(next.node);
      if (node.op == Op::AllReduce) buckets[lane].push_back(node.attributes.integer("group"));
    }
  }
  return buckets;
}

TEST(NcclPlan, HasAllBucketsOfARankInOneLaneOfTheirOwnAndInOneOrderAtAllRanks) {
  for (const char* workload : {"parabola", "resnet9_thin", "resnet9", "mobilenet_v2"}) {
    for (const std::int64_t bucket_bytes : {0, 64 << 10, 4 << 20}) {
      SCOPED_TRACE(std::string(workload) + ", buckets of " + std::to_string(bucket_bytes));
      RaceRequest request = request_of("nccl");
      request.workload = workload;
      request.global_batch.reset();
      request.options["bucket_bytes"] = bucket_bytes;
      const RunParts setup = set_up(request, 50'000);
      std::vector<std::int64_t> order;
      for (int rank = 0; rank < kRanks; ++rank) {
        const Step& part = setup.parts[static_cast<std::size_t>(rank)];
        const Plan plan(part, executor_options(request, setup.placement, images(), rank).plan);
        const auto buckets = buckets_by_lane(part, plan);
        ASSERT_EQ(buckets.size(), 1U);
        const auto& [lane, groups] = *buckets.begin();
        EXPECT_TRUE(plan.lanes()[static_cast<std::size_t>(lane)].communication);
        if (rank == 0) order = groups;
        EXPECT_EQ(groups, order);
      }
    }
  }
}

TEST(NcclRun, IsToldByItsRecord) {
  unsetenv("NCCL_ALGO");
  const RunParts setup = set_up(request_of("ring"));
  const PinnedNcclAlgorithm pinned(*nccl_algorithm(setup.request));
  EXPECT_EQ(link_between(setup.placement), "NCCL");
  const Cell cell = cell_of(setup.request, setup.placement, {.dataset = "shapes", .cores = 2});
  EXPECT_EQ(to_text(cell.options.at("all_reduce")), "ring");
  EXPECT_EQ(cell.cuda_graph, "off");
  EXPECT_EQ(environment_facts().at("NCCL_ALGO"), "Ring");
  RaceRequest on_cpus = setup.request;
  on_cpus.device = "cpu";
  EXPECT_EQ(link_between(place(on_cpus, kExamples)), "Open MPI");
}

TEST(NcclRun, GivesRanksOfOtherHostsTheVariablesThatNcclReads) {
  unsetenv("NCCL_ALGO");
  setenv("NCCL_REGATTA_TEST", "a=b", 1);
  const RunParts setup = set_up(request_of("ring"));
  const std::vector<int> cores;
  const PinnedNcclAlgorithm pinned(*nccl_algorithm(setup.request));
  const TrainerRequest wanted{.request = setup.request,
                              .placement = setup.placement,
                              .data = images(),
                              .cores = cores,
                              .run_id = {},
                              .fingerprint = {},
                              .tell = {}};
  const LaunchOptions launch = launch_of(wanted);
  unsetenv("NCCL_REGATTA_TEST");
  EXPECT_EQ(launch.environment.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(launch.environment.at("NCCL_REGATTA_TEST"), "a=b");
}

TEST(NcclRun, NeedsRanksWithOneVersionOfNccl) {
  const auto names_nccl = [](const RunParts& setup) {
    const Fingerprint lines = fingerprint_of(
        setup.request, setup.placement, placed_step(setup.placement), images(), software_facts());
    return std::any_of(lines.begin(), lines.end(),
                       [](const auto& line) { return line.first == "NCCL"; });
  };
  RaceRequest request = request_of("nccl");
  EXPECT_TRUE(names_nccl(set_up(request)));
  request.options["all_reduce"] = "reduce_to_one";
  EXPECT_FALSE(names_nccl(set_up(request)));
}

}  // namespace
}  // namespace regatta
