// SPDX-License-Identifier: Apache-2.0
//
// Tests that --all-reduce auto follows the costs, by bytes, members and processes.
#include "harness/simulate/picked_sums.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/calibration.h"
#include "harness/system/folder_for_test.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"

namespace regatta {
namespace {

using virtual_time::Way;

constexpr std::int64_t kWorkers = 4;
constexpr Way kSoon{.message_ns = 1'000, .bytes_per_ns = 0.9};  // better below 81 kB
constexpr Way kWide{.message_ns = 10'000, .bytes_per_ns = 1};
constexpr Way kSlow{.message_ns = 1e6, .bytes_per_ns = 1e-3};

class PickedSums : public testing::Test {
 protected:
  /// Writes costs of sums of four workers, in one process and in four.
  void write(std::string_view soon, std::string_view wide) const {
    Calibration made{.source = "the test",
                     .cpu = "",
                     .git_commit = "",
                     .timestamp = "",
                     .command = "",
                     .transports = {},
                     .kernels = {},
                     .sums = {},
                     .step_ns = {}};
    for (const std::int64_t processes : {std::int64_t{1}, kWorkers}) {
      for (const std::string_view algorithm : {kRing, kReduceToOne, kDoubleTree, kTorus, kMpi}) {
        made.sums.push_back({.algorithm = std::string(algorithm),
                             .members = kWorkers,
                             .processes = processes,
                             .way = algorithm == soon   ? kSoon
                                    : algorithm == wide ? kWide
                                                        : kSlow});
      }
    }
    std::ofstream(costs()) << to_json(made);
  }

  std::string costs() const { return (folder_.path() / "costs.json").string(); }

  RaceRequest request(std::int64_t bucket_bytes, std::int64_t processes) const {
    return {.workload = "resnet9_thin",
            .strategy = "all_reduce",
            .dataset = "shapes",
            .workers = kWorkers,
            .processes = processes,
            .options = {{"all_reduce", "auto"}, {"bucket_bytes", bucket_bytes}},
            .costs = costs()};
  }

  static Placement picked_for(const RaceRequest& request) {
    Placement placement = place_without_data(request);
    pick_sums(request, placement);
    return placement;
  }

  testing_support::ScratchFolder folder_;
};

TEST_F(PickedSums, AreByDoubleTreeWhereSmallAndByARingWhereLarge) {
  write(kDoubleTree, kRing);
  for (const std::int64_t processes : {std::int64_t{1}, kWorkers}) {
    const Placement placement = picked_for(request(0, processes));
    const Step& placed = placement.placed->step;
    int small = 0, large = 0;
    for (const Node& node : placed.graph.nodes()) {
      if (node.op != Op::AllReduce) continue;
      const bool is_small = node.outputs[0].bytes() < 81'000;
      ++(is_small ? small : large);
      EXPECT_EQ(node.attributes.text("algorithm"), is_small ? kDoubleTree : kRing);
    }
    EXPECT_GT(small, 0);
    EXPECT_GT(large, 0);
    EXPECT_EQ(placement.picked_by, read_calibration(costs()).digest);
  }
}

TEST_F(PickedSums, FollowTheCosts) {
  write(kTorus, kReduceToOne);
  EXPECT_EQ(picked_for(request(1 << 30, kWorkers)).picked,
            std::vector<std::string>{"reduce_to_one"});
  write(kMpi, kMpi);
  EXPECT_EQ(picked_for(request(1 << 30, kWorkers)).picked, std::vector<std::string>{"mpi"});
  EXPECT_EQ(picked_for(request(1 << 30, 1)).picked, std::vector<std::string>{"ring"});
}

TEST_F(PickedSums, AreByATorusWithTheSidesThatWereMeasuredOnly) {
  write(kRing, kRing);
  Calibration made = read_calibration(costs()).calibration;
  for (MeasuredSum& sum : made.sums) {
    if (sum.algorithm != kTorus) continue;
    sum.columns = kWorkers;
    sum.way = {.message_ns = 1, .bytes_per_ns = 100};
  }
  std::ofstream(costs()) << to_json(made);
  RaceRequest with_rows = request(1 << 30, kWorkers);
  EXPECT_EQ(picked_for(with_rows).picked, std::vector<std::string>{"ring"}) << "2x2 is unknown";
  with_rows.replicas_on_host = kWorkers;
  const Placement placement = picked_for(with_rows);
  EXPECT_EQ(placement.picked, std::vector<std::string>{"torus"});
  const Step& placed = placement.placed->step;
  for (const Node& node : placed.graph.nodes()) {
    if (node.op == Op::AllReduce) {
      EXPECT_EQ(torus_columns(node), kWorkers);
    }
  }
}

TEST_F(PickedSums, AreRefusedWithoutTimesOfSuchSums) {
  write(kDoubleTree, kRing);
  try {
    picked_for(request(0, 2));
    FAIL() << "nothing was measured in two processes";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_NE(std::string(error.what()).find("sums of 4 workers in 2 processes"), std::string::npos)
        << error.what();
  }
}

TEST_F(PickedSums, AreThoseOfTheRequestWhereItNamesThem) {
  RaceRequest named = request(1 << 30, kWorkers);
  named.costs.clear();
  named.picked = "torus";
  const Placement placement = picked_for(named);
  EXPECT_EQ(placement.picked, std::vector<std::string>{"torus"});
  EXPECT_EQ(placement.picked_by, std::nullopt);
  named.picked = "torus,ring";
  EXPECT_THROW(place_without_data(named), RunError);
  named.picked = "auto";
  EXPECT_THROW(place_without_data(named), RunError);
}

}  // namespace
}  // namespace regatta
