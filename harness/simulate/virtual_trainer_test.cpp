// SPDX-License-Identifier: Apache-2.0
//
// Compares training in virtual time with training in real time, and with itself.
#include "harness/simulate/virtual_trainer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <ostream>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"

namespace regatta::simulate {
namespace {

constexpr double kKernelNs = 10'000;
constexpr std::int64_t kSteps = 60;

struct Trial {
  std::string strategy;
  std::int64_t workers = 3;
  std::int64_t processes = 1;  ///< of workers; 0: one per worker, and servers beside them
  OptionValues options = {};
  std::uint64_t seed = 1;  ///< of the cluster's compute times
  std::map<int, double> stragglers = {};
  double spread = 0.5;
};

void PrintTo(const Trial& trial, std::ostream* out) {
  *out << trial.strategy << ", " << trial.workers << " workers, " << trial.processes
       << " processes";
}

plan::RaceRequest request_of(const Trial& trial) {
  plan::RaceRequest request;
  request.workload = "parabola";
  request.strategy = trial.strategy;
  request.workers = trial.workers;
  if (trial.processes > 0) request.processes = trial.processes;
  request.options = trial.options;
  request.steps = kSteps;
  return request;
}

/// Trains the parabola with a host per process. All kernels take the same time.
class VirtualRun {
 public:
  explicit VirtualRun(const Trial& trial)
      : request_(request_of(trial)),
        data_(workloads::load_data(workloads::find_workload("parabola"), "curve", {})) {
    const plan::Placement placement = plan::place(request_, data_.train.count);
    const Step& placed = placement.placed->step;
    const std::vector<Step>& parts = placement.placed->parts;
    VirtualCell cell;
    virtual_time::KernelCosts costs;
    for (const std::string& key : virtual_time::make_program(parts, {}, 1).unknown_kernels) {
      costs[key] = kKernelNs;
    }
    cell.program = virtual_time::make_program(parts, costs, 1);
    cell.file.cluster.latency_ns = 5'000;
    cell.file.cluster.server_cores = 64;
    cell.file.cluster.seed = trial.seed;
    cell.file.cluster.compute_times = {.kind = virtual_time::ComputeTimes::Kind::LogNormal,
                                       .spread = trial.spread};
    for (int p = 0; p < placement.processes; ++p) {
      cell.file.cluster.hosts.push_back({.name = "host" + std::to_string(p), .cores = 64});
      cell.options.host_of.push_back(p);
    }
    cell.options.stragglers = trial.stragglers;
    total_ = placement.recipe.total_examples;
    batch_ = placement.recipe.global_batch;
    trainer_ = std::make_unique<VirtualTrainer>(
        std::move(cell), placed, run::make_backend("cpu"),
        plan::executor_options(request_, placement, data_.train, 0));
  }

  /// Trains, with a stop after a third, as for an evaluation.
  run::TrainingReport trained() {
    trainer_->advance_to(kSteps / 3 * batch_);
    trainer_->advance_to(total_);
    EXPECT_GE(trainer_->examples_seen(), total_);
    EXPECT_LT(trainer_->examples_seen(), total_ + batch_);
    return trainer_->report();
  }
  std::int64_t clock_ns() const { return trainer_->clock_ns(); }

 private:
  plan::RaceRequest request_;
  workloads::DataSets data_;
  std::int64_t total_ = 0;
  std::int64_t batch_ = 0;
  std::unique_ptr<VirtualTrainer> trainer_;
};

using Losses = std::vector<std::vector<float>>;

Losses losses_of(const run::TrainingReport& report) {
  Losses losses;
  for (const run::LoopHistory& loop : report.loops) losses.push_back(loop.losses);
  return losses;
}

Losses really_trained(const Trial& trial) {
  plan::RaceRequest request = request_of(trial);
  request.processes = 1;
  const workloads::DataSets data =
      workloads::load_data(workloads::find_workload("parabola"), "curve", {});
  const plan::Placement placement = plan::place(request, data.train.count);
  run::LocalTrainer trainer(placement.placed->parts.front(), run::make_backend("cpu"),
                            plan::executor_options(request, placement, data.train, 0), 0);
  trainer.connect();
  trainer.advance_to(placement.recipe.total_examples);
  return losses_of(trainer.report());
}

/// The mean number of versions that a worker's update missed.
double mean_staleness(const run::TrainingReport& report, int loop) {
  double updates = 0, missed = 0;
  for (const run::RankedWorker& worker : report.workers) {
    if (worker.report.place.replica != loop) continue;
    const std::vector<std::uint64_t>& counts = worker.report.staleness;
    for (std::size_t versions = 0; versions < counts.size(); ++versions) {
      updates += static_cast<double>(counts[versions]);
      missed += static_cast<double>(counts[versions] * versions);
    }
  }
  EXPECT_GT(updates, 0);
  return missed / updates;
}

class Synchronous : public testing::TestWithParam<Trial> {};

TEST_P(Synchronous, HasTheBitsOfARealRun) {
  VirtualRun run(GetParam());
  const Losses losses = losses_of(run.trained());
  EXPECT_EQ(losses.front().size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(losses, really_trained(GetParam()));
  EXPECT_GT(run.clock_ns(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Virtual, Synchronous,
    testing::Values(Trial{.strategy = "single", .workers = 1}, Trial{.strategy = "in_graph"},
                    Trial{.strategy = "in_graph", .processes = 3},
                    Trial{.strategy = "central_storage"}, Trial{.strategy = "all_reduce"},
                    Trial{.strategy = "all_reduce", .processes = 3},
                    Trial{.strategy = "parameter_server", .processes = 0},
                    Trial{.strategy = "parameter_server",
                          .processes = 0,
                          .options = {{"servers", std::int64_t{2}}}},
                    Trial{.strategy = "parameter_server_async", .workers = 1, .processes = 0},
                    Trial{.strategy = "sharded", .processes = 3},
                    Trial{.strategy = "local_sgd", .processes = 3},
                    Trial{.strategy = "gossip", .processes = 3},
                    Trial{.strategy = "all_reduce+top_k", .processes = 3},
                    Trial{.strategy = "model_parallel", .workers = 2, .processes = 2},
                    Trial{.strategy = "independent"}));

class Asynchronous : public testing::TestWithParam<Trial> {};

TEST_P(Asynchronous, IsAlikeTwiceAndDiffersWithTheClusterSeed) {
  Trial trial = GetParam();
  const Losses losses = losses_of(VirtualRun(trial).trained());
  EXPECT_EQ(losses, losses_of(VirtualRun(trial).trained()));
  trial.seed = 2;
  EXPECT_NE(losses, losses_of(VirtualRun(trial).trained()));
}

/// On average each other worker updates once between two updates of a worker, so an update misses
/// one update of each. In ad_psgd, every second update misses an average with a peer. Updates
/// between a worker's update and its next read are not missed.
TEST_P(Asynchronous, MissesAnUpdateOfEachOtherWorker) {
  const Trial trial = GetParam();
  const run::TrainingReport report = VirtualRun(trial).trained();
  double sum = 0;
  for (int loop = 0; loop < trial.workers; ++loop) sum += mean_staleness(report, loop);
  const auto others = trial.strategy == "ad_psgd" ? 0.5 : static_cast<double>(trial.workers - 1);
  const double mean = sum / static_cast<double>(trial.workers);
  EXPECT_LT(mean, 1.02 * others);
  EXPECT_GT(mean, 0.5 * others);
}

TEST_P(Asynchronous, ASlowWorkerMissesMore) {
  Trial trial = GetParam();
  trial.stragglers = {{1, 4}};
  const run::TrainingReport report = VirtualRun(trial).trained();
  const int other = trial.workers == 4 ? 3 : 0;  // ad_psgd's even replicas miss none
  EXPECT_GT(mean_staleness(report, 1), 2 * mean_staleness(report, other));
}

INSTANTIATE_TEST_SUITE_P(
    Virtual, Asynchronous,
    testing::Values(Trial{.strategy = "async_shared", .workers = 4},
                    Trial{.strategy = "async_shared",
                          .workers = 4,
                          .options = {{"sharing", std::string("locked")}}},
                    Trial{.strategy = "async_shared", .workers = 12},
                    Trial{.strategy = "ad_psgd", .workers = 4},
                    Trial{.strategy = "ad_psgd", .workers = 4, .processes = 4},
                    Trial{.strategy = "parameter_server_async", .workers = 4, .processes = 0},
                    Trial{.strategy = "parameter_server_async",
                          .workers = 4,
                          .processes = 0,
                          .options = {{"servers", std::int64_t{2}}}}));

/// Runs on two servers, which count each loop's steps separately.
TEST(VirtualTrainer, ABoundHoldsFastWorkersBack) {
  Trial trial{.strategy = "parameter_server_async",
              .workers = 4,
              .processes = 0,
              .options = {{"servers", std::int64_t{2}}},
              .stragglers = {{1, 4}}};
  const double unbounded = mean_staleness(VirtualRun(trial).trained(), 1);
  trial.options["staleness_bound"] = std::int64_t{1};
  const run::TrainingReport bounded = VirtualRun(trial).trained();
  EXPECT_LT(mean_staleness(bounded, 1), unbounded / 2);
  EXPECT_EQ(losses_of(bounded), losses_of(VirtualRun(trial).trained()));
}

}  // namespace
}  // namespace regatta::simulate
