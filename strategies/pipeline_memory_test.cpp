// SPDX-License-Identifier: Apache-2.0
//
// The planned memory of a pipeline is that of the microbatches which its schedule keeps alive, plus
// the values that cross between stages, in one process and with a process for each stage.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "kernels/rewrite/fuse.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/chain_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using testing_support::chain;
using testing_support::training_of;

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 64;                                           // of a microbatch
constexpr std::int64_t kCut = kRows * kWidth * std::int64_t{sizeof(float)};  // 128 KiB cross

struct Shape {
  std::int64_t stages = 2;
  std::int64_t microbatches = 4;
  bool processes = false;  ///< one for each stage
};

/// Planned memory by stage.
std::map<int, std::int64_t> planned(const Step& step, std::string_view schedule,
                                    const Shape& shape) {
  StrategyOptions options;
  options.stages = shape.stages;
  options.given = {{"schedule", std::string(schedule)}, {"microbatches", shape.microbatches}};
  Binding binding;
  if (shape.processes) {
    binding = {.processes = static_cast<int>(shape.stages),
               .process_of = [](const Place& place) { return place.stage; }};
  }
  std::map<int, std::int64_t> all;
  for (const Step& part : partitioned(apply(find_strategies("pipeline"), step, options), binding)) {
    const Plan plan(part, PlanOptions{});
    for (const auto& [place, use] :
         planned_memory(part.graph, plan, plan_memory(part.graph, plan))) {
      all[place.stage] += use.sum();
    }
  }
  return all;
}

std::map<int, std::int64_t> planned(std::string_view schedule, const Shape& shape) {
  return planned(chain(kWidth, kRows * shape.microbatches), schedule, shape);
}

TEST(PipelineMemory, OfOneForwardOneBackwardIsThatOfTheMicrobatchesThatAStageKeeps) {
  // Values that are made or on their way, to the next stage and to the one before. Blocks of other
  // sizes leave gaps.
  constexpr std::int64_t kCrossing = 4 * kCut, kForGaps = 1;
  for (const bool processes : {false, true}) {
    for (const std::int64_t stages : {2, 4}) {
      const auto one = planned(k1f1b, {stages, 16, processes});
      for (const auto& [stage, bytes] : one) {
        const std::int64_t kept = stages - stage + kForGaps;
        EXPECT_LE(bytes, planned(kGpipe, {stages, kept, processes}).at(stage) + kCrossing)
            << "stage " << stage << " of " << stages << (processes ? " in processes" : "");
      }
    }
  }
}

TEST(PipelineMemory, GrowsWithMicrobatchesUnderGpipeOnly) {
  for (const bool processes : {false, true}) {
    for (const std::int64_t stages : {2, 4}) {
      for (const std::string_view schedule : kSchedules) {
        const auto few = planned(schedule, {stages, 16, processes});
        for (const auto& [stage, bytes] : planned(schedule, {stages, 32, processes})) {
          SCOPED_TRACE(std::string(schedule) + " stage " + std::to_string(stage));
          if (schedule == kGpipe) {
            EXPECT_GT(bytes, few.at(stage) + 16 * kCut);
          } else {
            EXPECT_LT(bytes, few.at(stage) + kCut);  // the input is larger
          }
        }
      }
    }
  }
}

TEST(PipelineMemory, OfImagesIsLeastUnderOneForwardOneBackwardAndMostUnderGpipe) {
  std::cout << "batch of 1024, 4 microbatches; MB of each stage in one process, in two\n";
  for (const char* workload : {"resnet9_thin", "airbench94"}) {
    const Step step = fuse(training_of(workload, 1024, 100));
    std::map<std::pair<std::string_view, bool>, std::int64_t> sums;
    for (const std::string_view schedule : kSchedules) {
      std::cout << workload << ' ' << schedule << ':';
      for (const bool processes : {false, true}) {
        for (const auto& [stage, bytes] : planned(step, schedule, {.processes = processes})) {
          std::cout << ' ' << bytes / 1'000'000;
          sums[{schedule, processes}] += bytes;
        }
        std::cout << (processes ? "\n" : ",");
      }
    }
    for (const bool processes : {false, true}) {
      for (const std::string_view schedule : {kInterleaved, kZeroBubble}) {
        EXPECT_LT((sums[{k1f1b, processes}]), (sums[{schedule, processes}])) << schedule;
        EXPECT_LT((sums[{schedule, processes}]), (sums[{kGpipe, processes}])) << schedule;
      }
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
