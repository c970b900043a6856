// SPDX-License-Identifier: Apache-2.0
//
// Sums and shares of replicas that share an emulated GPU: by one kernel in a queue they have the
// same bits as by the host, with steps by kernel, steps launched as one, and queues that run only
// when they are finished. ops/collective_test.cpp covers every algorithm, also on a real GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/graph/copier.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

constexpr std::int64_t kSteps = 12;
constexpr std::int64_t kBatch = 49;  // uneven shares for 3 replicas

enum class SumBy { Host, Gpu };

/// A run of the parabola on 3 replicas, and the side that computes its sums.
struct Options {
  std::string strategy = "all_reduce";
  std::int64_t inline_bytes = 0;  ///< 0: sums run in lanes of their own
  SumBy sum = SumBy::Gpu;
  LaunchSteps launch = LaunchSteps::ByKernel;
  std::function<Step(const Step&)> change = {};           ///< applied to the part
  std::function<void(KernelTable&)> change_kernels = {};  ///< applied to the kernels
};

class Training : public testing_support::Trial {
 public:
  Training(Device& device, const Options& options)
      : Trial(testing_support::training_of("parabola", kBatch, kSteps),
              testing_support::data_of("parabola"), trial_options(device, options)) {}
  Training& run() {
    executor().run(kSteps * kBatch);
    return *this;
  }

 private:
  static testing_support::TrialOptions trial_options(Device& device, const Options& options) {
    testing_support::TrialOptions run;
    run.strategy = options.strategy;
    run.options.replicas = 3;
    run.options.given = {{"bucket_bytes", 0}, {"share", 0.5}};  // a sum for each parameter
    run.plan.inline_bytes = options.inline_bytes;
    run.steps = 0;
    run.most_steps = kSteps;
    run.device = &device;
    run.launch = options.launch;
    run.add_kernels = [options](KernelTable& kernels) {
      add_cuda_kernels(kernels);
      if (options.change_kernels) options.change_kernels(kernels);
      for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
        if (options.sum == SumBy::Host) kernels.add(op, {});
      }
    };
    run.change = [options](Step& part, KernelTable&) {
      if (options.change) part = options.change(part);
    };
    return run;
  }
};

void expect_same_bits(Training& run, Training& by_host) {
  EXPECT_EQ(run.losses(), by_host.losses());
  EXPECT_EQ(run.parameters(), by_host.parameters());
}

TEST(GpuSum, HasTheBitsOfTheHostsAlsoInQueuesThatAreLate) {
  const std::unique_ptr<Device> emulated = cuda::make_emulated_device();
  cuda::testing_support::LateGpu late;
  for (const char* strategy :
       {"all_reduce", "all_reduce+bf16_compress", "all_reduce+top_k", "sharded"}) {
    for (const std::int64_t inline_bytes : {0, 1 << 20}) {
      SCOPED_TRACE(strategy);
      Options options{.strategy = strategy, .inline_bytes = inline_bytes, .sum = SumBy::Host};
      Training expected(*emulated, options);
      expected.run();
      options.sum = SumBy::Gpu;
      Training run(late, options);
      expect_same_bits(run.run(), expected);
      options.launch = LaunchSteps::AsOne;
      Training captured(*emulated, options);
      expect_same_bits(captured.run(), expected);
    }
  }
}

TEST(GpuSum, CountsMessagesAndTheirArrivalsUnlessTheStepIsLaunchedAsOne) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  for (const char* strategy : {"all_reduce", "sharded"}) {
    for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
      Training run(*device, {.strategy = strategy, .launch = launch});
      const TrafficByPlace counted = run.run().transport().traffic();
      for (const auto& [place, expected] : traffic(run.executor().step().graph)) {
        EXPECT_EQ(counted.at(place).sent, kSteps * expected.sent) << to_string(place);
        EXPECT_EQ(counted.at(place).received, kSteps * expected.received) << to_string(place);
        EXPECT_EQ(counted.at(place).messages, kSteps * expected.messages) << to_string(place);
      }
      if (strategy != std::string_view("all_reduce")) continue;
      for (const auto& [place, times] : run.transport().exchange_times()) {
        // Two weights and two biases.
        EXPECT_EQ(times.late.count(), launch == LaunchSteps::AsOne ? 0 : 4 * kSteps);
        EXPECT_EQ(times.wait.count(), times.late.count());
      }
    }
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

TEST(GpuSum, IsAwaitedNoLongerWhenAMemberFails) {
  const std::unique_ptr<Device> device = cuda::make_emulated_device();
  const auto fail = [](const KernelRequest&) { throw RunError(ErrorKind::Device, "on fire"); };
  Training run(*device, {.change_kernels = in_replica_1(fail)});
  EXPECT_EQ(testing_support::error_of([&] { run.run(); }), "on fire");
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
  EXPECT_EQ(testing_support::error_of([&] { run.run(); }), "somebody is lost");
  other.join();
}

}  // namespace
}  // namespace regatta
