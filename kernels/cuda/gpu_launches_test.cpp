// SPDX-License-Identifier: Apache-2.0
//
// The number of launches of a GPU's step: the nodes of a recorded step on an emulated queue, which
// computes nothing, so that the largest batch takes no time. And the GPU memory that a step holds.
// The committed output is results/no-gpu/step_launches.txt.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/hidden_memory_for_test.h"
#include "kernels/rewrite/fuse.h"
#include "kernels/runtime/devices.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::executor_options;
using testing_support::TrialOptions;

/// Counts by op; copies to and from the host are `transfers`.
using Launches = std::map<std::string, int>;

/// Launches are counted for the op of the running kernel.
struct Counter {
  std::string op = "transfers";
  Launches launches;
  std::vector<Launches> recordings;
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

/// A step that is never launched.
class NoStep final : public RecordedStep {
 public:
  void launch() override {}
};

class CountingRecorder final : public StepRecorder {
 public:
  explicit CountingRecorder(Counter& counter) : counter_(counter) {}
  void begin(std::span<LaneQueue* const>) override { counter_.launches.clear(); }
  Mark mark(std::size_t) override { return 0; }
  void wait(std::size_t, Mark) override {}
  void look() override {}
  std::unique_ptr<RecordedStep> end() override {
    counter_.recordings.push_back(counter_.launches);
    return std::make_unique<NoStep>();
  }

 private:
  Counter& counter_;
};

class CountingGpu final : public cuda::testing_support::HiddenDevice {
 public:
  explicit CountingGpu(Counter& counter) : counter_(counter) {}
  std::unique_ptr<LaneQueue> make_queue() override {
    return std::make_unique<CountingQueue>(*this, counter_);
  }
  std::unique_ptr<StepRecorder> make_recorder() override {
    return std::make_unique<CountingRecorder>(counter_);
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
    const auto* counted =
        dynamic_cast<const CountedKernel*>(&other);  // an Occasional merges with none
    return counted != nullptr && kernel_->merges_with(*counted->kernel_);
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

/// The least that a step's kernels read and write: each input and output once.
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

/// Enough images for a batch.
const DataSet& images() {
  static const DataSet data = workloads::make_shapes(20, workloads::Split::Train, 1024);
  return data;
}

Step step_of(const std::string& workload, std::int64_t batch) {
  workloads::Recipe recipe;
  recipe.global_batch = batch;
  recipe.train_examples = images().count;
  recipe.total_examples = 100 * batch;
  recipe.element = ElementType::BF16;
  recipe.data_weights = workloads::data_weights_of(workloads::find_workload(workload), images());
  const Step step = fuse(workloads::find_workload(workload).training(recipe));
  return strategies::partitioned(strategies::apply(strategies::find_strategies("single"), step, {}),
                                 Binding{})
      .front();
}

/// The recordings of `single`, from the run's first phase to the last (kernels/graph/node_steps.h):
/// of a step with all nodes and, if some kernels may rest, of one in which they do.
std::vector<Launches> recordings_of(const std::string& workload, std::int64_t batch) {
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
  const Step part = step_of(workload, batch);
  ExecutorOptions options = executor_options(images(), TrialOptions(), batch);
  options.launch = LaunchSteps::AsOne;
  Executor executor(part, {kernels, gpu}, options);
  executor.prepare();
  std::cout << workload << ", batch " << batch
            << ", bf16\n  each value read and written once: " << moved_gigabytes(part.graph)
            << " GB a step\n  memory of the step: "
            << static_cast<double>(executor.planned_bytes()) * 1e-9 << " GB\n";
  const double held = static_cast<double>(gpu.memory().bytes());
  EXPECT_LE(static_cast<double>(executor.planned_bytes()), held);
  EXPECT_GE(static_cast<double>(executor.planned_bytes()), 0.999 * held) << "what is not planned";
  return counter.recordings;
}

int sum_of(const Launches& launches) {
  int sum = 0;
  for (const auto& [op, count] : launches) sum += count;
  return sum;
}

void print(const Launches& launches) {
  std::cout << "  launches of a step: " << sum_of(launches) << '\n';
  for (const auto& [op, count] : launches) std::cout << "    " << count << ' ' << op << '\n';
}

TEST(Launches, OfAStepOfAirbench94AreFew) {
  const std::vector<Launches> recordings = recordings_of("airbench94", 1024);
  ASSERT_EQ(recordings.size(), 4U) << "the bias of the first layer is trained for three epochs";
  const Launches& all = recordings[0];
  print(all);
  EXPECT_EQ(all.at("sgd"), 2) << "of the first layer's bias, and of all that is trained to the end";
  EXPECT_EQ(all.at("lookahead"), 2);
  EXPECT_EQ(all.at("cast"), 3) << "of all weights, of the logits and their gradient";
  EXPECT_EQ(all.at("fused_normalize"), 6) << "a layer's statistics and values together";
  EXPECT_EQ(all.at("fused_normalize_backward"), 6);
  EXPECT_LE(sum_of(all), 56);
  EXPECT_FALSE(recordings[1].contains("lookahead")) << "it works in every fifth step";
  EXPECT_EQ(sum_of(recordings[1]), sum_of(all) - 2);
  std::cout << "  without lookahead, four steps in five: " << sum_of(recordings[1])
            << "; when the first layer is no longer trained: " << sum_of(recordings[2]) << " and "
            << sum_of(recordings[3]) << '\n';
  EXPECT_LT(sum_of(recordings[2]), sum_of(all));
}

TEST(Launches, OfAStepOfResnet9AreFew) {
  const std::vector<Launches> recordings = recordings_of("resnet9", 512);
  ASSERT_EQ(recordings.size(), 1U);
  print(recordings[0]);
  EXPECT_EQ(recordings[0].at("sgd"), 1);
  EXPECT_LE(sum_of(recordings[0]), 64);
}

}  // namespace
}  // namespace regatta
