// SPDX-License-Identifier: Apache-2.0
//
// all_reduce of replicas that share a GPU, an emulated one and a real one if there is one: sums by
// one kernel in a queue have the same bits as sums by the host, with steps by kernel, steps
// launched as one, and queues that run only when they are finished.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/cuda/gpu_sums_for_test.h"
#include "kernels/graph/copier.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using testing_support::expect_same_bits;
using testing_support::kBatch;
using testing_support::kSteps;
using testing_support::SumBy;
using Options = testing_support::SummedRun;
using Training = testing_support::SummedTraining;

struct Case {
  On on = On::Emulated;
  std::string algorithm;
  std::int64_t replicas = 1;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const std::string_view algorithm : all_reduce_algorithms()) {
      if (!has_addition_orders(algorithm)) continue;  // the host adds
      for (const std::int64_t replicas : {1, 2, 3, 5}) {
        all.push_back({on, std::string(algorithm), replicas});
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.algorithm + "_" + std::to_string(info.param.replicas) + "_replicas" +
         (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class GpuSums : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }

  Options options(SumBy sum, LaunchSteps launch = LaunchSteps::ByKernel) const {
    return {.algorithm = GetParam().algorithm,
            .replicas = GetParam().replicas,
            .sum = sum,
            .launch = launch};
  }

  std::unique_ptr<Device> device_;
};

TEST_P(GpuSums, GiveTheBitsOfTheHosts) {
  for (const std::int64_t inline_bytes : {0, 1 << 20}) {
    for (const std::int64_t bucket_bytes : {0, 1 << 20}) {
      Options by_host = options(SumBy::Host);
      by_host.inline_bytes = inline_bytes;
      by_host.bucket_bytes = bucket_bytes;
      Options by_gpu = by_host;
      by_gpu.sum = SumBy::Gpu;
      Training expected(*device_, by_host), run(*device_, by_gpu);
      expected.run();
      run.run();
      expect_same_bits(run, expected);
      by_gpu.launch = LaunchSteps::AsOne;
      Training captured(*device_, by_gpu);
      captured.run();
      expect_same_bits(captured, expected);
    }
  }
}

TEST_P(GpuSums, GiveTheBitsOfTheHostsInBf16) {
  Options by_host = options(SumBy::Host);
  by_host.strategy = "all_reduce+bf16_compress";
  Options by_gpu = by_host;
  by_gpu.sum = SumBy::Gpu;
  Training expected(*device_, by_host), run(*device_, by_gpu);
  expected.run();
  expect_same_bits(run.run(), expected);
  by_gpu.launch = LaunchSteps::AsOne;
  Training captured(*device_, by_gpu);
  expect_same_bits(captured.run(), expected);
}

TEST_P(GpuSums, CountTheMessagesOfTheAlgorithm) {
  for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
    Training run(*device_, options(SumBy::Gpu, launch));
    const TrafficByPlace counted = run.run().transport().traffic();
    for (const auto& [place, expected] : traffic(run.executor().step().graph)) {
      EXPECT_EQ(counted.at(place).sent, kSteps * expected.sent) << to_string(place);
      EXPECT_EQ(counted.at(place).received, kSteps * expected.received) << to_string(place);
      EXPECT_EQ(counted.at(place).messages, kSteps * expected.messages) << to_string(place);
    }
  }
}

TEST_P(GpuSums, TellWhoCameWhenUnlessNobodySeesIntoTheStep) {
  const auto arrivals = [&](LaunchSteps launch) {
    Training run(*device_, options(SumBy::Gpu, launch));
    std::vector<std::int64_t> counts;
    for (const auto& [place, times] : run.run().transport().exchange_times()) {
      EXPECT_EQ(times.late.count(), times.wait.count());
      counts.push_back(times.late.count());
    }
    return counts;
  };
  const auto replicas = static_cast<std::size_t>(GetParam().replicas);
  constexpr std::int64_t kSums = 4 * kSteps;  // two weights and two biases
  EXPECT_EQ(arrivals(LaunchSteps::ByKernel),
            std::vector<std::int64_t>(replicas, replicas == 1 ? 0 : kSums));
  EXPECT_EQ(arrivals(LaunchSteps::AsOne), std::vector<std::int64_t>(replicas, 0));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, GpuSums, testing::ValuesIn(cases()), name_of);

TEST(GpuSum, OfQueuesThatAreLateIsTheSame) {
  const std::unique_ptr<Device> emulated = cuda::make_emulated_device();
  cuda::testing_support::LateGpu late;
  for (const std::int64_t inline_bytes : {0, 1 << 20}) {
    Training expected(*emulated, {.inline_bytes = inline_bytes, .sum = SumBy::Host});
    Training run(late, {.inline_bytes = inline_bytes});
    expected.run();
    run.run();
    expect_same_bits(run, expected);
  }
}

/// All nodes of a replica before those of the next: the nodes after a sum at the first replica
/// precede that sum at the others in the graph.
Step replica_by_replica(const Step& step) {
  Step result = step;
  result.graph = Graph();
  Copier copier(step.graph);
  copier.copy_variables(result.graph);
  std::vector<NodeId> order(step.graph.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return step.graph.node(a).place.replica < step.graph.node(b).place.replica;
  });
  std::map<NodeId, NodeId> nodes;
  for (const NodeId id : order) nodes[id] = copier.copy(id, result.graph);
  for (Trainable& trainable : result.trainables) {
    trainable.variable = copier.variable(trainable.variable);
    trainable.gradient = copier.value(trainable.gradient);
    for (NodeId& update : trainable.updates) update = nodes.at(update);
  }
  for (Value& loss : result.losses) loss = copier.value(loss);
  return result;
}

TEST(GpuSum, IsRecordedWhateverTheOrderOfReplicasInTheGraph) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  Training expected(*device, {.sum = SumBy::Host});
  expected.run();
  for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
    Training run(*device, {.launch = launch, .change = replica_by_replica});
    run.run();
    expect_same_bits(run, expected);
  }
}

TEST(GpuSum, IsToldByTheRecord) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  const auto choices_of = [&](const std::string& strategy, SumBy sum) {
    Training training(*device, {.strategy = strategy, .sum = sum});
    std::set<std::string> choices;
    for (const auto& [node, choice] : training.executor().kernel_choices()) {
      const std::string op = node.substr(0, node.find(' '));
      if (op == "all_reduce" || op == "reduce_scatter" || op == "all_gather") {
        choices.insert(op + ": " + choice);
      }
    }
    return choices;
  };
  using Choices = std::set<std::string>;
  const std::string adds = "own kernel: adds up 3 replicas on their GPU, in the order of ring";
  const std::string host = "the host, by ring: the device has no kernel for it";
  EXPECT_EQ(choices_of("all_reduce", SumBy::Gpu), Choices{"all_reduce: " + adds});
  EXPECT_EQ(choices_of("all_reduce", SumBy::Host), Choices{"all_reduce: " + host});
  EXPECT_EQ(choices_of("sharded", SumBy::Gpu),
            (Choices{"all_gather: own kernel: gathers the shares of 3 replicas on their GPU",
                     "reduce_scatter: " + adds}));
  EXPECT_EQ(choices_of("sharded", SumBy::Host),
            (Choices{"all_gather: " + host, "reduce_scatter: " + host}));
}

/// Replaces tanh by `act` in a step of the second replica, before its sums.
std::function<void(KernelTable&)> in_replica_1(
    const std::function<void(const KernelRequest&)>& act) {
  return [act](KernelTable& kernels) {
    kernels.add(Op::Tanh, [act, build = kernels.factory(Op::Tanh)](const KernelRequest& request) {
      if (request.node.place.replica != 1) return build(request);
      return make_kernel([act, request](const StepContext& context) {
        if (context.step == 2) act(request);
      });
    });
  };
}

std::string error_of(Training& run) {
  try {
    run.run();
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GpuSum, IsAwaitedNoLongerWhenAMemberFails) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  const auto fail = [](const KernelRequest&) { throw RunError(ErrorKind::Device, "on fire"); };
  Training run(*device, {.change_kernels = in_replica_1(fail)});
  EXPECT_EQ(error_of(run), "on fire");
}

TEST(GpuSum, IsAwaitedNoLongerWhenTheRunIsInterrupted) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  std::promise<void> stuck;
  const auto stay_away = [&](const KernelRequest& request) {
    stuck.set_value();
    while (!request.abort->raised) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  Training run(*device, {.change_kernels = in_replica_1(stay_away)});
  std::thread other([&] {
    stuck.get_future().wait();
    run.executor().interrupt({ErrorKind::PeerLost, "somebody is lost"});
  });
  EXPECT_EQ(error_of(run), "somebody is lost");
  other.join();
}

}  // namespace
}  // namespace regatta
