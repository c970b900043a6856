// SPDX-License-Identifier: Apache-2.0
//
// Steps of parameter servers over gRPC allocate nothing in our code, on any thread: lanes, and
// gRPC's own that deliver messages. Starting and ending a part of a run allocates, so a long part
// is compared with a short one. Buffers may still grow when a message arrives in more pieces than
// ever before; that happens fewer times than there are steps, whereas an allocation in a step
// happens in each.
#include <gtest/gtest.h>

#include <iostream>
#include <tuple>

#include "kernels/runtime/count_allocations_for_test.h"
#include "strategies/cluster_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kWarmUp = 10;
constexpr std::int64_t kShort = 5;

class ParameterServersOverGrpc : public testing::TestWithParam<std::string> {};

/// Counts the allocations of further steps.
class CountedCluster {
 public:
  CountedCluster(const std::string& strategy, const std::string& workload, std::int64_t batch,
                 std::int64_t most_steps)
      : batch_(batch),
        cluster_(training_of(workload, batch, most_steps), data_of(workload),
                 options_of(strategy, most_steps), servers_and_workers(1, 2, 2)) {}

  std::int64_t allocations_of(std::int64_t steps) {
    steps_ += steps;
    const std::int64_t before = allocation_count();
    cluster_.run_to(steps_ * batch_);
    return allocation_count() - before;
  }

 private:
  static TrialOptions options_of(const std::string& strategy, std::int64_t most_steps) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = 2;
    options.steps = most_steps;
    return options;
  }

  std::int64_t batch_;
  Cluster cluster_;
  std::int64_t steps_ = 0;
};

TEST_P(ParameterServersOverGrpc, AllocateNothingInAStep) {
  for (const auto& [workload, batch, steps] :
       {std::tuple("parabola", 50, 100), std::tuple("resnet9_thin", 32, 20)}) {
    CountedCluster cluster(GetParam(), workload, batch, kWarmUp + kShort + kShort + steps);
    cluster.allocations_of(kWarmUp);
    const std::int64_t of_few = cluster.allocations_of(kShort);
    const std::int64_t of_many = cluster.allocations_of(kShort + steps);
    std::cout << workload << ": " << of_few << ", then " << of_many << '\n';
    EXPECT_LT(of_many - of_few, steps / 2) << workload;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, ParameterServersOverGrpc,
                         testing::Values("parameter_server", "parameter_server_async"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace regatta::strategies
