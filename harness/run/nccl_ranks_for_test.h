// SPDX-License-Identifier: Apache-2.0
//
// Test runs with ranks that exchange by NCCL: each rank is a thread, with test doubles of a GPU and
// of NCCL; all code above the table of NCCL's calls is the program's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <latch>

#include "harness/plan/capture_rule.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/local_trainer.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/comm/nccl/nccl_members_for_test.h"
#include "kernels/cuda/device/hidden_memory_for_test.h"
#include "kernels/runtime/devices.h"
#include "workloads/data/shapes.h"

namespace regatta::testing_support {

inline constexpr int kRanks = 3;
inline constexpr std::int64_t kExamples = 96;

inline const DataSet& images() {
  static const DataSet data = make_shapes(20, Split::Train, kExamples);
  return data;
}

inline RaceRequest request_of(const std::string& algorithm, const std::string& cuda_graph = "off") {
  RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "all_reduce";
  request.device = "cuda";
  request.options["all_reduce"] = algorithm;
  request.workers = kRanks;
  request.processes = kRanks;
  request.global_batch = kExamples / 2;
  request.steps = 2;
  request.options["bucket_bytes"] = 64 << 10;  // several, the last one small
  request.cuda_graph = cuda_graph;
  return request;
}

inline RaceRequest sharded_request(const std::string& shard,
                                   const std::string& cuda_graph = "off") {
  RaceRequest request = request_of("ring", cuda_graph);
  request.strategy = "sharded";
  request.options.erase("all_reduce");
  request.options["shard"] = shard;
  return request;
}

/// A GPU double with memory that only its streams may touch, including NCCL's work.
class HiddenGpu final : public cuda::testing_support::HiddenDevice {
 public:
  explicit HiddenGpu(int number) : number_(number) {}
  std::unique_ptr<LaneQueue> make_queue() override {
    auto queue = std::make_unique<StreamQueue>(number_);
    queue->surround([this](const std::function<void()>& work) {
      const cuda::testing_support::HiddenMemory::Opened opened(&memory());
      work();
    });
    return queue;
  }
  std::unique_ptr<StepRecorder> make_recorder() override {
    return std::make_unique<StreamRecorder>();
  }

 private:
  int number_;
};

/// The parts that the coordinator and every rank derive from a request.
struct RunParts {
  RaceRequest request;
  Placement placement;
  std::vector<Step> parts;
};

inline RunParts set_up(const RaceRequest& request, std::int64_t train_examples = kExamples) {
  RunParts made{.request = request, .placement = {}, .parts = {}};
  made.request.cuda_graph = "auto";
  made.placement = place(made.request, train_examples);
  made.request = request;
  if (made.placement.facts.carries_shares) made.placement.by_nccl = true;  // as with a GPU
  made.placement.launch = launch_of_steps(request, made.placement);
  set_data_weights(made.placement, data_weights_of(*made.placement.workload, images()));
  made.parts = made.placement.placed->parts;
  return made;
}

inline std::unique_ptr<LocalTrainer> trainer_of(const RunParts& setup, int process,
                                                std::unique_ptr<Backend> backend) {
  const Step& part = setup.parts.at(static_cast<std::size_t>(process));
  return std::make_unique<LocalTrainer>(
      part, std::move(backend), executor_options(setup.request, setup.placement, images(), process),
      process);
}

using Values = std::map<std::pair<Place, std::string>, std::vector<float>>;

inline Values values_of(LocalTrainer& trainer) {
  Values all;
  for (const VariableCopy& copy : trainer.variables(Copies::All)) {
    const float* first = copy.tensor.f32();
    all[{copy.variable.place, copy.variable.name}] = {first, first + copy.tensor.elements()};
  }
  return all;
}

class NcclTraining : public Nccl {
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
        connected.arrive_and_wait();  // a coordinator makes them wait for each other, too
        body(rank, *trainer);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// Expects each rank's variables, or its shares of them, to equal those of one process on the
  /// CPU. `strategy`: of that process.
  void expect_the_bits_of_one_process(RaceRequest request,
                                      const std::string& strategy = "all_reduce") {
    const RunParts setup = set_up(request);
    request.strategy = strategy;
    request.options.erase("shard");
    request.options["all_reduce"] = "reduce_to_one";
    request.device = "cpu";
    request.cuda_graph = "off";
    request.winograd = "off";  // as on a GPU
    request.processes = 1;
    const auto together = trainer_of(set_up(request), 0, make_backend("cpu"));
    together->advance_to(kExamples);
    const Values expected = values_of(*together);
    for_each_rank(setup, [&](int, LocalTrainer& trainer) {
      trainer.advance_to(kExamples);
      const Values found = values_of(trainer);
      EXPECT_FALSE(found.empty());
      for (const auto& [key, values] : found) {
        EXPECT_EQ(values, expected_of(expected, key)) << key.second;
      }
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

  /// Reports a lost rank to rank 0 while it waits, and expects it to end with that reason.
  void expect_an_end_with_the_reason(const RaceRequest& request) {
    unsetenv("NCCL_ALGO");
    const PinnedNcclAlgorithm pinned(kRing);  // like the coordinator and every rank at their start
    options_.close_limit_ns = kShortNs;       // the remaining rank cannot close cleanly
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

  /// The expected values of `weight[8:24]`: elements 8 to 23 of `weight`.
  static std::vector<float> expected_of(const Values& whole,
                                        const std::pair<Place, std::string>& key) {
    const auto& [place, name] = key;
    const std::size_t bracket = name.find('[');
    const std::vector<float>& all = whole.at({place, name.substr(0, bracket)});
    if (bracket == std::string::npos) return all;
    const std::size_t colon = name.find(':', bracket);
    return {all.begin() + std::stoll(name.substr(bracket + 1)),
            all.begin() + std::stoll(name.substr(colon + 1))};
  }

  NcclTransportOptions options_{.calls = &calls_};
  bool hides_memory_ = false;

 private:
  /// Makes the backend like make_backend(), except for the doubles.
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

}  // namespace regatta::testing_support
