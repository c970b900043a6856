// SPDX-License-Identifier: Apache-2.0
//
// Sums by NCCL itself on all GPUs of this machine and on one alone, whole or by shares. Each member
// runs in a thread, set up as if it were a process. Skips without a GPU or NCCL.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include "kernels/comm/nccl/nccl_calls.h"
#include "kernels/comm/nccl/nccl_members_for_test.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::testing_support {
namespace {

const std::vector<std::int64_t> kBuckets = {7, 100'003, 1};

/// A member's number and its GPU's.
struct Seat {
  int number = 0;
  int gpu = 0;
};

class GpuMember {
 public:
  GpuMember(Meeting& meeting, const std::string& algorithm, const Seat& seat, Sums sums)
      : number_(seat.number),
        transport_(std::make_unique<ThreadRendezvous>(meeting, seat.number)),
        device_(make_cuda_device(seat.gpu)),
        queue_(device_->make_queue()) {
    transport_.add_kernels(table_);
    std::vector<std::int64_t> processes;
    for (int process = 0; process < meeting.processes; ++process) processes.push_back(process);
    for (std::int64_t bucket = 0; bucket < std::ssize(kBuckets); ++bucket) {
      const std::int64_t elements = kBuckets[at(bucket)];
      const auto bytes = elements * static_cast<std::int64_t>(sizeof(float));
      tensors_.push_back(
          {.type = {ElementType::F32, {elements}}, .data = device_->allocate(bytes)});
      const Node node = node_of(algorithm, processes, number_, bucket);
      for (SumNode& each : nodes_of_sum(node, tensors_.back(), sums)) {
        const SumNode& kept = nodes_.emplace_back(std::move(each));
        kernels_.push_back(table_.build({.node = kept.node,
                                         .inputs = kept.inputs,
                                         .outputs = kept.outputs,
                                         .variables = {},
                                         .versions_seen = {},
                                         .queue = queue_.get()}));
      }
    }
    transport_.connect();
  }
  ~GpuMember() {
    kernels_.clear();
    queue_.reset();
    for (const Tensor& tensor : tensors_) device_->release(tensor.data);
  }

  void run(std::int64_t round) {
    for (std::int64_t bucket = 0; bucket < std::ssize(kBuckets); ++bucket) {
      std::vector<float> elements;
      for (std::int64_t i = 0; i < kBuckets[at(bucket)]; ++i) {
        elements.push_back(contribution(number_, round_of(bucket, round), i));
      }
      const Tensor& tensor = tensors_[at(bucket)];
      device_->write(tensor.data, elements.data(), tensor.type.bytes());
    }
    const StepContext context{.step = round, .counters = &counters_};
    queue_->begin_step(context);
    for (auto& kernel : kernels_) kernel->run(context);
    queue_->finish();
  }

  std::vector<float> found(std::int64_t bucket) const {
    const Tensor& tensor = tensors_[at(bucket)];
    std::vector<float> elements(static_cast<std::size_t>(tensor.elements()));
    device_->read(elements.data(), tensor.data, tensor.type.bytes());
    return elements;
  }

 private:
  int number_;
  comm::NcclTransport transport_;
  KernelTable table_{"cuda"};
  std::unique_ptr<Device> device_;
  std::unique_ptr<LaneQueue> queue_;
  std::deque<Tensor> tensors_;
  std::deque<SumNode> nodes_;
  LaneCounters counters_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

void expect_sums(const GpuMember& member, std::int64_t round, int members) {
  for (std::int64_t bucket = 0; bucket < std::ssize(kBuckets); ++bucket) {
    const std::vector<float> found = member.found(bucket);
    for (std::int64_t i = 0; i < kBuckets[at(bucket)]; ++i) {
      double sum = 0;
      for (int m = 0; m < members; ++m) {
        sum += static_cast<double>(contribution(m, round_of(bucket, round), i));
      }
      ASSERT_NEAR(found[at(i)], sum, 1e-5) << "bucket " << bucket << ", element " << i;
    }
  }
}

class NcclOnGpus : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const GpuFindings found = find_gpus();
    if (!found.missing.empty()) GTEST_SKIP() << found.missing;
    if (const std::string why = comm::why_no_nccl(); !why.empty()) GTEST_SKIP() << why;
    gpus_ = static_cast<int>(found.gpus.size());
    unsetenv("NCCL_ALGO");
    // No other thread that reads the environment exists yet.
    pinned_.emplace(GetParam());
    permission_.emplace();
  }

  /// Runs the checks with `members` members, which are assigned to `gpus` GPUs in turn.
  void check_members(int members, int gpus, Sums sums = Sums::Whole) {
    Meeting meeting;
    meeting.processes = members;
    std::vector<std::thread> threads;
    for (int number = 0; number < members; ++number) {
      threads.emplace_back([&meeting, number, members, gpus, sums] {
        try {
          GpuMember member(meeting, std::string(GetParam()),
                           {.number = number, .gpu = number % gpus}, sums);
          for (std::int64_t round = 0; round < 3; ++round) {
            member.run(round);
            expect_sums(member, round, members);
          }
        } catch (const std::exception& error) {
          ADD_FAILURE() << "member " << number << ": " << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  int gpus_ = 0;
  std::optional<comm::PinnedNcclAlgorithm> pinned_;
  std::optional<comm::SharedGpuPermission> permission_;
};

TEST_P(NcclOnGpus, LeavesTheOnlyContributionOfOneMember) {
  check_members(1, 1);
  check_members(1, 1, Sums::ByShares);
}

TEST_P(NcclOnGpus, LeavesTheSumOverAllAtEach) {
  if (gpus_ < 2) GTEST_SKIP() << "there is one GPU here, and NCCL wants one for each member";
  check_members(gpus_, gpus_);
  check_members(gpus_, gpus_, Sums::ByShares);
}

TEST_P(NcclOnGpus, LeavesTheSumOverThreeThatShareAGpu) {
  int version = 0;
  comm::nccl_library().get_version(&version);
  if (version < comm::kSharesGpus) GTEST_SKIP() << "NCCL is older than 2.30.3";
  check_members(3, 1);
  check_members(3, 1, Sums::ByShares);
}

INSTANTIATE_TEST_SUITE_P(By, NcclOnGpus, testing::Values(kNccl, kRing),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace regatta::testing_support
