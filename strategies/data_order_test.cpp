// SPDX-License-Identifier: Apache-2.0
//
// The examples that input kernels consumed have one digest under every synchronous strategy, and
// the digest shows faults of the input: a worker that reads another's slice, an augmentation of
// another range.
#include <gtest/gtest.h>

#include <functional>

#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using testing_support::data_of;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kSteps = 5;

std::uint64_t consumed_by(Trial& trial) {
  std::uint64_t sum = 0;
  for (const WorkerReport& worker : trial.executor().workers()) sum += worker.data_order;
  return sum;
}

struct Cell {
  std::string strategy = "single";
  std::int64_t workers = 1;
};

/// The digest of a run, with `change` applied to each input node.
std::uint64_t order_of(const std::string& workload, std::int64_t global_batch, const Cell& cell,
                       const std::function<void(Node&)>& change = {}) {
  TrialOptions options{.strategy = cell.strategy, .options = {}, .steps = kSteps};
  options.options.replicas = cell.workers;
  Step step = training_of(workload, global_batch, kSteps);
  if (change) {
    options.options.given["bucket_bytes"] = 0;  // a trial fills buckets
    const Step placed = apply(find_strategies(cell.strategy), step, options.options);
    step = placed;
    step.graph = Graph();
    step.graph.copy_variables_of(placed.graph);
    for (Node node : placed.graph.nodes()) {
      if (node.op == Op::Input) change(node);
      step.graph.add(node);
    }
    options = {.options = {}, .steps = kSteps};
  }
  Trial trial(step, data_of(workload), options);
  return consumed_by(trial);
}

/// Full batches, batches over several epochs, and augmented images.
const std::vector<std::pair<std::string, std::int64_t>> kWorkloads{
    {"parabola", 50}, {"parabola", 24}, {"resnet9_thin", 48}};

TEST(DataOrder, IsOneForEverySynchronousStrategy) {
  for (const auto& [workload, batch] : kWorkloads) {
    const std::uint64_t single = order_of(workload, batch, {});
    EXPECT_NE(single, 0U);
    for (const char* strategy :
         {"in_graph", "central_storage", "all_reduce", "sharded", "parameter_server"}) {
      for (const std::int64_t workers : {2, 3}) {
        EXPECT_EQ(order_of(workload, batch, {strategy, workers}), single)
            << workload << ' ' << batch << ' ' << strategy << ' ' << workers;
      }
    }
  }
}

TEST(DataOrder, IsAnotherForAnotherBatch) {
  EXPECT_NE(order_of("parabola", 50, {}), order_of("parabola", 16, {}));
  EXPECT_NE(order_of("parabola", 48, {}), order_of("parabola", 16, {}));
}

TEST(DataOrder, ShowsASliceThatIsAnotherWorkers) {
  for (const auto& [workload, batch] : kWorkloads) {
    const Cell cell{.strategy = "all_reduce", .workers = 2};
    const std::uint64_t right = order_of(workload, batch, {});
    EXPECT_EQ(order_of(workload, batch, cell, [](Node&) {}), right);
    const std::uint64_t wrong = order_of(workload, batch, cell, [](Node& node) {
      if (node.place.replica == 1) node.attributes.set("offset", std::int64_t{0});
    });
    EXPECT_NE(wrong, right) << workload << ' ' << batch;
  }
}

TEST(DataOrder, ShowsAnAugmentationOfAnotherRange) {
  const std::uint64_t right = order_of("resnet9_thin", 48, {});
  for (const char* range : {"pad", "cutout"}) {
    const std::uint64_t wrong = order_of("resnet9_thin", 48, {}, [range](Node& node) {
      node.attributes.set(range, node.attributes.integer(range) - 1);
    });
    EXPECT_NE(wrong, right) << range;
  }
}

}  // namespace
}  // namespace regatta::strategies
