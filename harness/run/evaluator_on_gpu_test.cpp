// SPDX-License-Identifier: Apache-2.0
//
// Evaluates on an emulated GPU that also trains: variables bypass the host if each has one copy,
// and the results equal the CPU's.
#include <gtest/gtest.h>

#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/evaluator.h"
#include "harness/run/local_trainer.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/runtime/devices.h"
#include "workloads/data/shapes.h"

namespace regatta::run {
namespace {

constexpr std::int64_t kImages = 32;

/// Counts reads and copies of its memory.
class WatchedGpu final : public cuda::testing_support::HiddenDevice {
 public:
  std::unique_ptr<LaneQueue> make_queue() override {
    return std::make_unique<cuda::testing_support::LateQueue>(*this);
  }
  void read(void* host, const void* memory, std::int64_t bytes) override {
    ++reads;
    HiddenDevice::read(host, memory, bytes);
  }
  void copy(std::span<const MemoryCopy> copies) override {
    copied += std::ssize(copies);
    HiddenDevice::copy(copies);
  }
  std::int64_t reads = 0;
  std::int64_t copied = 0;
};

struct GpuBackend {
  GpuBackend() : backend(std::make_unique<Backend>("cuda")) {
    auto made = std::make_unique<WatchedGpu>();
    gpu = made.get();
    backend->gpu = std::move(made);
    add_cuda_kernels(backend->kernels);
    backend->add(std::make_unique<comm::InProcessTransport>());
  }
  std::unique_ptr<Backend> backend;
  WatchedGpu* gpu = nullptr;
};

/// resnet9_thin, which has statistics of normalisation, after one step.
class EvaluatorOnGpu : public testing::Test {
 protected:
  void train(const std::string& strategy, std::int64_t replicas) {
    plan::RaceRequest request;
    request.workload = "resnet9_thin";
    request.strategy = strategy;
    request.workers = replicas;
    if (replicas > 1) request.options["all_reduce"] = "reduce_to_one";
    request.global_batch = kImages;
    request.steps = 1;
    placement_ = plan::place(request, train_.count);
    placement_.recipe.evaluation_batch = kImages;
    replicas_ = replicas;
    const Step part = placement_.placed->parts.front();
    GpuBackend gpu;
    training_gpu_ = gpu.gpu;
    trainer_ = std::make_unique<LocalTrainer>(
        part, std::move(gpu.backend), plan::executor_options(request, placement_, train_, 0), 0);
    trainer_->connect();
    trainer_->advance_to(kImages);
  }

  EvaluationResult judge_by(const Backend& backend) {
    const Step step =
        plan::as_computed(placement_, placement_.workload->evaluation(placement_.recipe));
    const std::vector<std::int64_t> groups(static_cast<std::size_t>(replicas_), 1);
    Evaluator evaluator(*placement_.workload, step, test_, backend,
                        {.evaluations = 1, .groups = groups});
    return evaluator.judge(*trainer_);
  }

  void expect_to_judge_as_the_cpu(const EvaluationResult& found) {
    const EvaluationResult wanted = judge_by(*make_backend("cpu"));
    EXPECT_NEAR(found.loss, wanted.loss, 1e-3 * wanted.loss);
    EXPECT_EQ(found.parameter_norm, wanted.parameter_norm);
    EXPECT_GT(found.took_ns, 0);
  }

  std::int64_t reads_of_training() const { return training_gpu_->reads; }

 private:
  DataSet train_ = workloads::make_shapes(20, workloads::Split::Train, kImages);
  DataSet test_ = workloads::make_shapes(20, workloads::Split::Test, kImages);
  plan::Placement placement_;
  std::int64_t replicas_ = 1;
  WatchedGpu* training_gpu_ = nullptr;
  std::unique_ptr<LocalTrainer> trainer_;
};

TEST_F(EvaluatorOnGpu, HasItsVariablesWithoutTheHost) {
  train("single", 1);
  const std::int64_t reads = reads_of_training();
  const GpuBackend gpu;
  const EvaluationResult found = judge_by(*gpu.backend);
  EXPECT_EQ(reads_of_training(), reads);
  EXPECT_GT(gpu.gpu->copied, 10);
  expect_to_judge_as_the_cpu(found);
}

TEST_F(EvaluatorOnGpu, HasThemFromTheHostWhereStatisticsOfReplicasAreAveraged) {
  train("all_reduce", 2);
  const GpuBackend gpu;
  const EvaluationResult found = judge_by(*gpu.backend);
  EXPECT_EQ(gpu.gpu->copied, 0);
  expect_to_judge_as_the_cpu(found);
}

}  // namespace
}  // namespace regatta::run
