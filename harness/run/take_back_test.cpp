// SPDX-License-Identifier: Apache-2.0
//
// Code that reads the training's variables between steps moves them back to the device afterwards:
// the evaluator, also with its own variables, and checkpoints.
#include <gtest/gtest.h>

#include "harness/checkpoint/checkpoints.h"
#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/evaluator.h"
#include "harness/run/local_trainer.h"
#include "harness/system/folder_for_test.h"
#include "kernels/runtime/devices.h"

namespace regatta {
namespace {

/// The CPU's memory. Counts how often variables have come back.
class CountingDevice final : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void release(void* memory) noexcept override { cpu_device().release(memory); }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }
  void take_back(std::span<const Tensor>) override { ++times; }

  int times = 0;
};

/// The CPU's kernels on the memory of such a device.
std::unique_ptr<Backend> backend_on(CountingDevice*& device) {
  auto backend = make_backend("cpu");
  auto made = std::make_unique<CountingDevice>();
  device = made.get();
  backend->gpus.push_back(std::move(made));
  return backend;
}

class TakeBack : public testing::Test {
 protected:
  TakeBack() {
    request_.workload = "parabola";
    request_.steps = 4;
    data_ = load_data(find_workload("parabola"), "curve", {});
    placement_ = place(request_, data_.train.count);
    trainer_ = std::make_unique<LocalTrainer>(
        partition(placed_step(placement_), binding_of(placement_)).front(),
        backend_on(training_device_), executor_options(request_, placement_, data_.train, 0), 0);
  }

  RaceRequest request_;
  DataSets data_;
  Placement placement_;
  CountingDevice* training_device_ = nullptr;
  std::unique_ptr<LocalTrainer> trainer_;
};

TEST_F(TakeBack, FollowsEveryEvaluationOnBothDevices) {
  CountingDevice* device = nullptr;
  const std::unique_ptr<Backend> backend = backend_on(device);
  Evaluator evaluator(*placement_.workload, placement_.workload->evaluation(placement_.recipe),
                      data_.test, *backend, {.cores = {}, .evaluations = 2});
  evaluator.judge(*trainer_);
  EXPECT_EQ(training_device_->times, 1);
  EXPECT_EQ(device->times, 1);
  evaluator.judge(*trainer_);
  EXPECT_EQ(training_device_->times, 2);
  EXPECT_EQ(device->times, 2);
}

TEST_F(TakeBack, FollowsEveryCheckpoint) {
  request_.checkpoint_every = 2;
  const testing_support::ScratchFolder folder;
  request_.checkpoints = folder.path().string();
  Checkpoints checkpoints(request_);
  Record record;
  record.run_id = "take_back";
  checkpoints.identify({}, record);
  checkpoints.write_first(*trainer_, record);
  EXPECT_EQ(training_device_->times, 1);
  trainer_->advance_to(2 * placement_.recipe.global_batch);
  checkpoints.write({.examples = 2 * placement_.recipe.global_batch}, *trainer_, record);
  EXPECT_EQ(training_device_->times, 2);
}

}  // namespace
}  // namespace regatta
