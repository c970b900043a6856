// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers on the CPU with workers on GPUs, over real gRPC connections: emulated GPUs on
// any machine, which run everything as late as allowed, and a real GPU if there is one, which the
// workers share. Exchanged values pass through host memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "strategies/cluster_for_test.h"

namespace regatta {
namespace {

using cuda::testing_support::LateGpu;
using cuda::testing_support::On;
using namespace testing_support;

/// Processes of workers follow those of servers.
DeviceOfProcess gpus_for_workers(On on, int servers) {
  return [=](int process) -> ClusterDevice {
    if (process < servers) return {};
    const auto kernels = [](KernelTable& table) { add_cuda_kernels(table); };
    if (on == On::Gpu) return {make_cuda_device(0), kernels};
    return {std::make_unique<LateGpu>(), kernels};
  };
}

struct Deal {
  int workers = 1;
  int servers = 1;
  std::int64_t inline_bytes = PlanOptions().inline_bytes;  ///< 0: a lane for all messages
  const char* workload = "parabola";
};

class ServersOfGpus : public testing::TestWithParam<std::tuple<On, Deal>> {
 protected:
  void SetUp() override {
    if (std::get<On>(GetParam()) == On::Emulated) return;
    if (const GpuFindings found = find_gpus(); !found.missing.empty()) {
      GTEST_SKIP() << found.missing;
    }
  }
  TrialOptions options_of(const std::string& strategy, std::int64_t steps) const {
    const Deal& deal = std::get<Deal>(GetParam());
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = deal.workers;
    options.options.given["servers"] = deal.servers;
    options.plan.inline_bytes = deal.inline_bytes;
    options.steps = steps;
    return options;
  }
  /// One process for each worker.
  Cluster cluster(const Step& step, const TrialOptions& options) const {
    const auto& [on, deal] = GetParam();
    return {step, data_of(deal.workload), options,
            servers_and_workers(deal.servers, deal.workers, deal.workers),
            gpus_for_workers(on, deal.servers)};
  }
};

TEST_P(ServersOfGpus, FollowSingleOnTheCpu) {
  const Deal& deal = std::get<Deal>(GetParam());
  const bool small = std::string(deal.workload) == "parabola";
  const std::int64_t steps = small ? 20 : 2;
  const double bound =
      small ? cuda::testing_support::bound_of_small_sums(std::get<On>(GetParam())) : 2e-3;
  const Step step = training_of(deal.workload, small ? 49 : 24, steps);
  TrialOptions alone;
  alone.steps = steps;
  Trial expected(step, data_of(deal.workload), alone);
  for (const char* strategy : {"parameter_server", "parameter_server+top_k"}) {
    SCOPED_TRACE(strategy);
    TrialOptions options = options_of(strategy, steps);
    options.options.given["share"] = 1.0;
    Cluster on_gpus = cluster(step, options);
    on_gpus.run();
    const std::vector<float> losses = on_gpus.losses(), wanted = expected.losses();
    ASSERT_EQ(losses.size(), wanted.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      EXPECT_NEAR(losses[k], wanted[k], bound * std::abs(wanted[k])) << "step " << k;
    }
    EXPECT_LT(relative_difference(on_gpus.parameters(), expected.parameters()), bound);
  }
}

TEST_P(ServersOfGpus, ApplyEveryAsynchronousPushAndCountItsStaleness) {
  const Deal& deal = std::get<Deal>(GetParam());
  if (std::string(deal.workload) != "parabola") return;
  const TrialOptions options = options_of("parameter_server_async", 200);
  Cluster on_gpus = cluster(training_of("parabola", 48, options.steps), options);
  on_gpus.run();
  std::int64_t pushes = 0;
  float first = 0, last = 0;  // over the workers; a late one begins with learnt parameters
  for (int worker = 0; worker < deal.workers; ++worker) {
    const std::vector<LoopReport> loops = on_gpus.executor(deal.servers + worker).loops();
    ASSERT_EQ(loops.size(), 1U);
    first = std::max(first, loops[0].losses.front());
    last = std::max(last, loops[0].losses.back());
    pushes += loops[0].steps;
  }
  EXPECT_LT(last, first / 2);
  EXPECT_GE(pushes, deal.workers * options.steps);
  std::uint64_t updates = 0;
  for (int server = 0; server < deal.servers; ++server) {
    EXPECT_EQ(on_gpus.executor(server).lost_updates(), 0);
    for (const WorkerReport& worker : on_gpus.executor(server).workers()) {
      updates = std::accumulate(worker.staleness.begin(), worker.staleness.end(), updates);
    }
  }
  EXPECT_EQ(updates, 4U * static_cast<std::uint64_t>(pushes));  // four parameters
}

std::vector<Deal> deals() {
  std::vector<Deal> all;
  for (const int workers : {1, 2, 3}) {
    for (const int servers : {1, 2}) {
      for (const std::int64_t inline_bytes : {std::int64_t{0}, PlanOptions().inline_bytes}) {
        all.push_back({workers, servers, inline_bytes, "parabola"});
      }
    }
  }
  all.push_back({3, 2, PlanOptions().inline_bytes, "resnet9_narrow"});
  return all;
}

std::string name_of(const testing::TestParamInfo<std::tuple<On, Deal>>& info) {
  const Deal& deal = std::get<Deal>(info.param);
  return std::string(deal.workload) + "_" + std::to_string(deal.workers) + "_workers_" +
         std::to_string(deal.servers) + "_servers" + (deal.inline_bytes == 0 ? "_by_lanes" : "") +
         (std::get<On>(info.param) == On::Gpu ? "_gpu" : "_late");
}

INSTANTIATE_TEST_SUITE_P(Deals, ServersOfGpus,
                         testing::Combine(testing::Values(On::Emulated, On::Gpu),
                                          testing::ValuesIn(deals())),
                         name_of);

}  // namespace
}  // namespace regatta
