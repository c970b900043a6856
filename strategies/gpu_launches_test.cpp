// SPDX-License-Identifier: Apache-2.0
//
// How many launches a step of a GPU has: counted at an emulated queue, which does none of the work,
// so that the largest batch takes no time.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/hidden_memory_for_test.h"
#include "kernels/graph/fuse.h"
#include "kernels/runtime/devices.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::data_of;
using testing_support::executor_options;
using testing_support::training_of;
using testing_support::TrialOptions;

/// By op; copies to and from the host are `transfers`.
using Launches = std::map<std::string, int>;

/// What is launched is counted for the op whose kernel runs.
struct Counter {
  std::string op = "transfers";
  Launches launches;
};

class CountingQueue final : public cuda::testing_support::EmulatedQueue {
 public:
  CountingQueue(cuda::testing_support::HiddenDevice& device, Counter& counter)
      : EmulatedQueue(device), counter_(counter) {}
  void finish() override {}

 private:
  void take(std::function<void()>) override { ++counter_.launches[counter_.op]; }
  Counter& counter_;
};

class CountingGpu final : public cuda::testing_support::HiddenDevice {
 public:
  explicit CountingGpu(Counter& counter) : counter_(counter) {}
  std::unique_ptr<LaneQueue> make_queue() override {
    return std::make_unique<CountingQueue>(*this, counter_);
  }

 private:
  Counter& counter_;
};

class CountedKernel final : public Kernel {
 public:
  CountedKernel(std::unique_ptr<Kernel> kernel, std::string op, Counter& counter)
      : kernel_(std::move(kernel)), op_(std::move(op)), counter_(counter) {}
  void run(const StepContext& context) override {
    const std::string before = std::exchange(counter_.op, op_);
    kernel_->run(context);
    counter_.op = before;
  }
  bool merges_with(const Kernel& other) const override {
    return kernel_->merges_with(*dynamic_cast<const CountedKernel&>(other).kernel_);
  }
  void take_over(std::span<Kernel* const> others) override {
    std::vector<Kernel*> inner;
    for (Kernel* other : others)
      inner.push_back(dynamic_cast<CountedKernel&>(*other).kernel_.get());
    kernel_->take_over(inner);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::string op_;
  Counter& counter_;
};

/// What the kernels of a step read and write at least: each input and output once.
double moved_gigabytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (is_view(graph, node)) continue;
    for (const Value& input : node.inputs) bytes += graph.type(input).bytes();
    for (const TensorType& type : node.outputs) bytes += type.bytes();
    for (const VariableId v : node.variables) bytes += 2 * graph.variable(v).type.bytes();
  }
  return static_cast<double>(bytes) * 1e-9;
}

/// Of one step of `single`.
Launches launches_of(const std::string& workload, std::int64_t batch, ElementType element) {
  Counter counter;
  CountingGpu gpu(counter);
  KernelTable cuda("cuda"), kernels("cuda");
  add_cuda_kernels(cuda);
  for (const OpInfo& info : all_ops()) {
    if (!cuda.has(info.op)) continue;
    kernels.add(info.op, [&, build = cuda.factory(info.op)](const KernelRequest& request) {
      return std::make_unique<CountedKernel>(build(request),
                                             std::string(to_string(request.node.op)), counter);
    });
  }
  TrialOptions options;
  options.steps = 1;
  const Step step = fuse(training_of(workload, batch, 1, element));
  const Step part =
      partition(apply(find_strategies("single"), step, options.options), Binding{}).front();
  Executor executor(part, {kernels, gpu}, executor_options(data_of(workload), options, batch));
  std::cout << workload << ": " << moved_gigabytes(part.graph) << " GB moved in a step of " << batch
            << '\n';
  counter.launches.clear();
  executor.run(batch);
  return counter.launches;
}

int sum_of(const std::string& workload, const Launches& launches) {
  int sum = 0;
  for (const auto& [op, count] : launches) {
    std::cout << workload << ": " << count << ' ' << op << '\n';
    sum += count;
  }
  std::cout << workload << ": " << sum << " in a step\n";
  return sum;
}

TEST(Launches, OfAStepOfAirbench94AreFew) {
  const Launches launches = launches_of("airbench94", 512, ElementType::BF16);
  EXPECT_EQ(launches.at("sgd"), 1) << "of all parameters";
  EXPECT_EQ(launches.at("lookahead"), 1);
  EXPECT_EQ(launches.at("fused_normalize"), 6) << "a layer's statistics and values together";
  EXPECT_EQ(launches.at("fused_normalize_backward"), 6);
  EXPECT_LE(sum_of("airbench94", launches), 60);
}

TEST(Launches, OfAStepOfResnet9AreFew) {
  const Launches launches = launches_of("resnet9", 512, ElementType::BF16);
  EXPECT_EQ(launches.at("sgd"), 1);
  EXPECT_LE(sum_of("resnet9", launches), 72);
}

}  // namespace
}  // namespace regatta
