// SPDX-License-Identifier: Apache-2.0
//
// Collectives of replicas that share a GPU, the emulated one and a real one, where there is one: a
// run whose sums are taken, and whose shares are gathered, by one kernel in a queue has the bits of
// one in which the host does it, by kernel, launched as one, and with queues that do nothing before
// somebody finishes them.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using testing_support::data_of;
using testing_support::Parameters;
using testing_support::training_of;
using testing_support::TrialOptions;

constexpr std::int64_t kSteps = 12;
constexpr std::int64_t kBatch = 49;  // uneven shares for 2, 3 and 5 replicas

enum class SumBy { Host, Gpu };

struct Options {
  std::string strategy = "all_reduce";
  std::string algorithm = "ring";
  OptionValues given = {};
  std::int64_t replicas = 3;
  std::int64_t inline_bytes = 0;  ///< 0: sums have lanes of their own
  std::int64_t bucket_bytes = 0;  ///< 0: a sum for each parameter
  SumBy sum = SumBy::Gpu;
  LaunchSteps launch = LaunchSteps::ByKernel;
  std::function<Step(const Step&)> change = {};           ///< to the placed step
  std::function<void(KernelTable&)> change_kernels = {};  ///< to those that compute
};

class Training {
 public:
  Training(Device& device, const Options& options) {
    add_cuda_kernels(kernels_);
    if (options.change_kernels) options.change_kernels(kernels_);
    for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
      if (options.sum == SumBy::Host) kernels_.add(op, {});
    }
    transport_.add_kernels(kernels_);
    TrialOptions run;
    run.options.replicas = options.replicas;
    run.options.given = options.given;
    run.options.given["all_reduce"] = options.algorithm;
    run.options.given["bucket_bytes"] = options.bucket_bytes;
    run.plan.inline_bytes = options.inline_bytes;
    const Step step = training_of("parabola", kBatch, kSteps);
    Step placed = apply(find_strategies(options.strategy), step, run.options);
    if (options.change) placed = options.change(placed);
    part_ = partition(placed, Binding{}).front();
    ExecutorOptions executor_options =
        testing_support::executor_options(data_of("parabola"), run, kSteps * kBatch);
    executor_options.launch = options.launch;
    executor_ =
        std::make_unique<Executor>(part_, PlacedDevices(kernels_, device), executor_options);
    executor_->prepare();
  }
  Training& run() {
    executor_->run(kSteps * kBatch);
    return *this;
  }
  Executor& executor() { return *executor_; }
  std::vector<float> losses() const { return executor_->loops().at(0).losses; }
  Parameters parameters() {
    Parameters all;
    testing_support::add_parameters(*executor_, all);
    return all;
  }
  const InProcessTransport& transport() const { return transport_; }

 private:
  KernelTable kernels_{"cuda"};
  InProcessTransport transport_;
  Step part_;
  std::unique_ptr<Executor> executor_;
};

void expect_same_bits(Training& run, Training& by_host) {
  EXPECT_EQ(run.losses(), by_host.losses());
  EXPECT_EQ(run.parameters(), by_host.parameters());
}

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

struct ShareCase {
  On on = On::Emulated;
  std::string strategy = "sharded";
  OptionValues given = {};
  std::int64_t replicas = 1;
};

std::vector<ShareCase> share_cases() {
  std::vector<ShareCase> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const std::int64_t replicas : {1, 2, 5}) {
      for (const char* shard : {"optimizer", "gradients", "parameters"}) {
        all.push_back({on, "sharded", {{"shard", shard}}, replicas});
      }
      all.push_back({on, "all_reduce+top_k", {{"share", 0.5}}, replicas});
    }
  }
  return all;
}

std::string name_of_shares(const testing::TestParamInfo<ShareCase>& info) {
  std::string name = testing_support::identifier_of(info.param.strategy) + "_" +
                     to_text(info.param.given.begin()->second) + "_" +
                     std::to_string(info.param.replicas) + "_replicas";
  std::replace(name.begin(), name.end(), '.', '_');
  return name + (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class GpuShares : public testing::TestWithParam<ShareCase> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }
  Options options() const {
    return {.strategy = GetParam().strategy,
            .given = GetParam().given,
            .replicas = GetParam().replicas};
  }

  std::unique_ptr<Device> device_;
};

TEST_P(GpuShares, GiveTheBitsOfTheHosts) {
  cuda::testing_support::LateGpu late;
  for (const std::int64_t bucket_bytes : {0, 1 << 20}) {
    Options way = options();
    way.bucket_bytes = bucket_bytes;
    way.sum = SumBy::Host;
    Training expected(*device_, way);
    expected.run();
    way.sum = SumBy::Gpu;
    Training run(*device_, way);
    expect_same_bits(run.run(), expected);
    way.launch = LaunchSteps::AsOne;
    Training captured(*device_, way);
    expect_same_bits(captured.run(), expected);
    if (GetParam().on == On::Gpu) continue;
    way.launch = LaunchSteps::ByKernel;
    Training behind(late, way);
    expect_same_bits(behind.run(), expected);
  }
}

TEST_P(GpuShares, CountTheMessagesOfTheAlgorithm) {
  for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
    Options way = options();
    way.launch = launch;
    Training run(*device_, way);
    const TrafficByPlace counted = run.run().transport().traffic();
    for (const auto& [place, expected] : traffic(run.executor().step().graph)) {
      EXPECT_EQ(counted.at(place).sent, kSteps * expected.sent) << to_string(place);
      EXPECT_EQ(counted.at(place).received, kSteps * expected.received) << to_string(place);
      EXPECT_EQ(counted.at(place).messages, kSteps * expected.messages) << to_string(place);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuShares, testing::ValuesIn(share_cases()), name_of_shares);

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

/// All nodes of a replica before those of the next: what follows a sum at the first stands in the
/// graph before that sum at the others.
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

/// In a step of the second replica, before its sums: `act` in place of tanh.
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
