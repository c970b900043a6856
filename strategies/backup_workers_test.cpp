// SPDX-License-Identifier: Apache-2.0
//
// Backup workers in one process: the arithmetic of the pushes that count, which has the bits of as
// many workers without backups. checkpoint_test.py continues such a run, faults_test.py loses a
// worker.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <utility>

#include "strategies/curve_by_adam_for_test.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;
using Parameters = std::map<std::string, std::vector<float>>;

Step step_of(const std::string& workload, std::int64_t batch, std::int64_t steps) {
  if (workload != "adam") return training_of(workload, batch, steps);
  // Adam's formula counts steps; lookahead runs every other step.
  const LookaheadOptions lookahead{.period = 2,
                                   .global_batch = batch,
                                   .total_examples = steps * batch,
                                   .decay = Schedule::constant(0.75)};
  return curve_by_adam(batch, lookahead);
}

/// A trial of a placed step that has not run yet.
class Training {
 public:
  /// `held_back`: a replica with losses that wait until the others have finished; -1: none.
  Training(const Step& placed, const DataSet& data, const TrialOptions& options, int held_back = -1)
      : examples_(options.steps * placed.global_batch),
        trial_(placed, data, waiting(options, held_back)) {
    looks_at_ = &trial_.executor();
  }

  Executor& executor() { return trial_.executor(); }
  void run_all() { executor().run(examples_); }
  Parameters parameters() { return trial_.parameters(); }
  /// Reports of applied and dropped pushes, by worker.
  std::vector<WorkerReport> pushes() {
    std::vector<WorkerReport> all;
    for (const WorkerReport& worker : executor().workers()) {
      if (worker.place.role == Role::Server && worker.place.stage == 0) all.push_back(worker);
    }
    return all;
  }

 private:
  /// The step is placed already.
  TrialOptions waiting(TrialOptions options, int held_back) {
    options.strategy = "single";
    options.options = {};
    options.most_steps = std::exchange(options.steps, 0);
    options.change = [this, held_back](Step&, KernelTable& kernels) {
      for (Op op : {Op::MeanSquaredError, Op::SoftmaxCrossEntropy}) {
        hold_back(kernels, op, held_back);
      }
    };
    return options;
  }

  void hold_back(KernelTable& kernels, Op op, int replica) {
    kernels.add(op, [this, replica, real = kernels.factory(op)](const KernelRequest& request) {
      std::shared_ptr<Kernel> kernel = real(request);
      const bool waits = request.node.place.replica == replica;
      return make_kernel([this, waits, kernel](const StepContext& context) {
        while (waits && looks_at_.load()->examples_seen() < examples_) std::this_thread::yield();
        kernel->run(context);
      });
    });
  }

  std::int64_t examples_;
  std::atomic<const Executor*> looks_at_{nullptr};
  Trial trial_;
};

TrialOptions with_backups(std::int64_t workers, std::int64_t backups, std::int64_t steps) {
  TrialOptions options;
  options.strategy = "parameter_server";
  options.options.replicas = workers;
  options.options.given["backup_workers"] = backups;
  options.steps = steps;
  return options;
}

Step placed(const Step& step, const TrialOptions& options) {
  return apply(find_strategies(options.strategy), step, options.options);
}

/// The same step, but drawing `count` examples of the data order in each step; replicas start at
/// `offsets` if these are given.
Step drawing(const Step& step, std::int64_t count, const std::vector<std::int64_t>& offsets = {}) {
  Step result = step;
  result.graph = Graph();
  result.graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Input) node.attributes.set("global_batch", count);
    if (node.op == Op::Input && !offsets.empty()) {
      node.attributes.set("offset", offsets.at(static_cast<std::size_t>(node.place.replica)));
    }
    result.graph.add(node);
  }
  return result;
}

std::vector<std::int64_t> shares_of(const Step& step, const TrialOptions& options) {
  const StrategyOptions& chosen = options.options;
  std::vector<std::int64_t> shares =
      dealt_groups(step.global_batch / step.normalization_group, chosen.replicas,
                   std::get<std::int64_t>(chosen.given.at("backup_workers")));
  for (std::int64_t& share : shares) share *= step.normalization_group;
  return shares;
}

std::int64_t examples_drawn(const Step& step, const TrialOptions& options) {
  const std::vector<std::int64_t> shares = shares_of(step, options);
  return std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
}

struct Deal {
  std::string workload;
  std::int64_t workers = 2;
  std::int64_t servers = 1;
  std::int64_t batch = 32;
  std::int64_t steps = 3;
};

class ForcedQuorum : public testing::TestWithParam<Deal> {};

/// The last worker is held back, so that the others always count.
TEST_P(ForcedQuorum, ComputesTheBitsOfAsManyWorkersAlone) {
  const Deal& deal = GetParam();
  const std::string source = deal.workload == "adam" ? "parabola" : deal.workload;
  const DataSet& data = data_of(source);
  const Step step = step_of(deal.workload, deal.batch, deal.steps);
  TrialOptions options = with_backups(deal.workers, 1, deal.steps);
  options.options.given["servers"] = deal.servers;
  Training backed(placed(step, options), data, options, static_cast<int>(deal.workers));
  backed.run_all();
  const std::int64_t drawn = examples_drawn(step, options);
  options.options.given["backup_workers"] = 0;
  Training alone(drawing(placed(step, options), drawn), data, options);
  alone.run_all();
  EXPECT_EQ(backed.parameters(), alone.parameters());

  const std::vector<float> expected = alone.executor().loops().at(0).losses;
  const std::vector<LoopReport> loops = backed.executor().loops();
  std::vector<float> losses(expected.size());
  const std::vector<WorkerReport> pushes = backed.pushes();
  for (std::size_t w = 0; w < static_cast<std::size_t>(deal.workers); ++w) {
    EXPECT_EQ(pushes.at(w).updates_applied, deal.steps);
    EXPECT_EQ(pushes.at(w).updates_dropped, 0);
    for (std::size_t k = 0; k < losses.size(); ++k) {
      losses[k] += loops.at(w).losses.at(k);
      EXPECT_EQ(loops.at(w).examples.at(k), static_cast<std::int64_t>(k) * deal.batch);
    }
  }
  EXPECT_EQ(losses, expected);
  EXPECT_EQ(pushes.back().updates_applied, 0);
  EXPECT_EQ(pushes.back().updates_dropped, 1);
}

INSTANTIATE_TEST_SUITE_P(Deals, ForcedQuorum,
                         testing::Values(Deal{"parabola", 2, 1, 32, 50},
                                         Deal{"parabola", 3, 2, 30, 50},
                                         Deal{"parabola", 3, 2, 32, 50}, Deal{"adam", 2, 1, 32, 21},
                                         Deal{"resnet9_thin", 2, 1}, Deal{"resnet9_thin", 2, 2},
                                         Deal{"resnet9_thin", 2, 1, 40}),
                         [](const auto& test) {
                           return test.param.workload + '_' + std::to_string(test.param.workers) +
                                  "_workers_" + std::to_string(test.param.servers) +
                                  "_servers_batch_" + std::to_string(test.param.batch);
                         });

/// With shares of 16, 15 and 16 examples both 16s always count; the expected results are those of a
/// batch of 32 drawn at the same places. 31 steps of 32 have as many examples as 32 batches of 31.
TEST(BackupWorkers, StepByTheMeanOverTheExamplesThatCounted) {
  const std::string source = "parabola";
  const DataSet& data = data_of(source);
  for (const char* workload : {"parabola", "adam"}) {
    for (std::int64_t servers : {1, 2}) {
      const Step step = step_of(workload, 31, 32);
      TrialOptions options = with_backups(2, 1, 32);
      options.options.given["servers"] = servers;
      Training backed(placed(step, options), data, options, 1);
      backed.run_all();
      EXPECT_EQ(backed.executor().examples_seen(), 31 * 32);
      options = with_backups(2, 0, 31);
      options.options.given["servers"] = servers;
      Training alone(drawing(placed(step_of(workload, 32, 31), options), 47, {0, 31}), data,
                     options);
      alone.run_all();
      const Parameters expected = alone.parameters();
      for (const auto& [name, values] : backed.parameters()) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(values[i], expected.at(name)[i], 2e-5) << workload << ' ' << name;
        }
      }
    }
  }
}

TEST(BackupWorkers, WithoutAnyTheGraphIsThatOfTheParameterServer) {
  const Step step = step_of("parabola", 32, 1);
  const Step without = placed(step, with_backups(2, 0, 1));
  for (const Node& node : without.graph.nodes()) EXPECT_NE(node.op, Op::Quorum);
}

}  // namespace
}  // namespace regatta::strategies
