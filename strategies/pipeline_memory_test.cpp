// SPDX-License-Identifier: Apache-2.0
//
// The memory that a pipeline plans is that of the microbatches which its schedule keeps alive, what
// crosses from stage to stage included, in one process and over one for each stage.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <tuple>

#include "kernels/graph/fuse.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/chain_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::chain;
using testing_support::training_of;

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 64;  // of a microbatch: what crosses has 128 KiB

struct Shape {
  std::int64_t stages = 2;
  std::int64_t microbatches = 4;
  bool processes = false;  ///< one for each stage
};

/// By stage.
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
  for (const Step& part : partition(apply(find_strategies("pipeline"), step, options), binding)) {
    for (const auto& [place, bytes] : planned_bytes(part.graph, Plan(part, PlanOptions{}))) {
      all[place.stage] += bytes;
    }
  }
  return all;
}

std::map<int, std::int64_t> planned(std::string_view schedule, const Shape& shape) {
  return planned(chain(kWidth, kRows * shape.microbatches), schedule, shape);
}

TEST(PipelineMemory, OfImages) {
  std::cout << "workload schedule: MB of each stage in one process; in a process for each\n";
  for (const char* workload : {"resnet9_thin", "airbench94"}) {
    const Step step = fuse(training_of(workload, 1024, 100));
    for (const std::string_view schedule : kSchedules) {
      std::cout << workload << ' ' << schedule << ':';
      for (const bool processes : {false, true}) {
        for (const auto& [stage, bytes] : planned(step, schedule, {.processes = processes})) {
          std::cout << ' ' << bytes / 1'000'000;
        }
        std::cout << ';';
      }
      std::cout << '\n';
    }
  }
}

TEST(PipelineMemory, Prints) {
  for (const bool processes : {false, true}) {
    for (const std::int64_t stages : {2, 4}) {
      for (const std::string_view schedule : kSchedules) {
        for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 8, 16}) {
          if (schedule == kInterleaved && m % stages != 0) continue;
          std::cout << (processes ? "over processes " : "") << schedule << " p " << stages << " m " << m << ':';
          for (const auto& [stage, bytes] : planned(schedule, {stages, m, processes})) {
            std::cout << ' ' << bytes / 1024 / 128;
          }
          std::cout << '\n';
        }
      }
    }
  }
}

}  // namespace
}  // namespace regatta
