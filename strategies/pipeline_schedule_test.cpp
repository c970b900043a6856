// SPDX-License-Identifier: Apache-2.0
//
// Schedules of pipelines: their order, their memory, and their bubbles by the formulas of their
// sources.
#include "strategies/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

namespace regatta::strategies {
namespace {

/// `F0 F1 B0`, with the chunk if a stage has several: `F0.2`.
std::string text(const std::vector<Pass>& passes, const PipelineShape& shape) {
  std::string all;
  for (const Pass& pass : passes) {
    const char letter = "FBIW"[static_cast<int>(pass.kind)];
    all += (all.empty() ? "" : " ") + std::string(1, letter) + std::to_string(pass.microbatch);
    if (shape.chunks > 1) all += "." + std::to_string(pass.chunk);
  }
  return all;
}

/// The largest number of activations (by microbatch and chunk) that a stage keeps at a time.
std::int64_t kept(const std::vector<Pass>& passes) {
  std::int64_t now = 0, most = 0;
  for (const Pass& pass : passes) {
    if (pass.kind == PassKind::Forward) most = std::max(most, ++now);
    if (pass.kind == PassKind::Backward || pass.kind == PassKind::WeightGradients) --now;
  }
  return most;
}

std::vector<PipelineShape> shapes() {
  std::vector<PipelineShape> all;
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 3, 4, 8, 16}) {
      all.push_back({.stages = p, .chunks = 1, .microbatches = m});
    }
  }
  return all;
}

TEST(PipelineSchedule, OrdersPassesAsTheSourcesDo) {
  const PipelineShape shape{.stages = 2, .chunks = 1, .microbatches = 3};
  EXPECT_EQ(text(pipeline_schedule(kGpipe, shape)[0], shape), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text(pipeline_schedule(k1f1b, shape)[0], shape), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(text(pipeline_schedule(k1f1b, shape)[1], shape), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(text(pipeline_schedule(kZeroBubble, shape)[0], shape), "F0 F1 I0 W0 F2 I1 W1 I2 W2");
  EXPECT_EQ(text(pipeline_schedule(kZeroBubble, shape)[1], shape), "F0 I0 F1 I1 W0 F2 I2 W1 W2");
}

TEST(PipelineSchedule, InterleavesChunksInGroupsOfStages) {
  const PipelineShape shape{.stages = 2, .chunks = 2, .microbatches = 2};
  const auto schedule = pipeline_schedule(kInterleaved, shape);
  EXPECT_EQ(text(schedule[0], shape), "F0.0 F1.0 F0.2 F1.2 B0.2 B1.2 B0.0 B1.0");
  EXPECT_EQ(text(schedule[1], shape), "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 B0.1 B1.1");
}

TEST(PipelineSchedule, TakesEachPassOnce) {
  for (PipelineShape shape : shapes()) {
    for (const std::string_view name : kSchedules) {
      shape.chunks = name == kInterleaved ? 2 : 1;
      if (name == kInterleaved && shape.microbatches % shape.stages != 0) continue;
      std::set<std::tuple<PassKind, std::int64_t, std::int64_t>> all;
      std::size_t passes = 0;
      const auto schedule = pipeline_schedule(name, shape);
      for (std::size_t s = 0; s < schedule.size(); ++s) {
        for (const Pass& pass : schedule[s]) {
          EXPECT_EQ(pass.chunk % shape.stages, static_cast<std::int64_t>(s));
          all.emplace(pass.kind, pass.chunk, pass.microbatch);
          ++passes;
        }
      }
      const std::size_t kinds = name == kZeroBubble ? 3 : 2;
      EXPECT_EQ(passes, kinds * static_cast<std::size_t>(shape.all_chunks() * shape.microbatches));
      EXPECT_EQ(all.size(), passes);
      EXPECT_EQ(in_one_order(schedule, shape).size(), passes);
    }
  }
}

TEST(PipelineSchedule, HasTheBubbleOfItsFormula) {
  const PassTimes times{.forward = 1, .input_gradients = 1, .weight_gradients = 1};
  for (PipelineShape shape : shapes()) {
    const auto p = static_cast<double>(shape.stages), m = static_cast<double>(shape.microbatches);
    const std::string where = std::to_string(shape.stages) + " stages, " +
                              std::to_string(shape.microbatches) + " microbatches";
    const auto bubble = [&](std::string_view name) {
      return makespan(pipeline_schedule(name, shape), shape, times) - 3 * m;
    };
    EXPECT_EQ(bubble(kGpipe), 3 * (p - 1)) << where;
    EXPECT_EQ(bubble(k1f1b), 3 * (p - 1)) << where;
    if (shape.microbatches >= shape.stages) {
      EXPECT_EQ(bubble(kZeroBubble), p - 1) << where;
    } else {
      EXPECT_LE(bubble(kZeroBubble), 3 * (p - 1)) << where;
    }
    if (shape.microbatches % shape.stages != 0) continue;
    for (shape.chunks = 2; shape.chunks <= 4; shape.chunks *= 2) {
      EXPECT_DOUBLE_EQ(bubble(kInterleaved), 3 * (p - 1) / static_cast<double>(shape.chunks))
          << where << ", " << shape.chunks << " chunks";
    }
  }
}

TEST(PipelineSchedule, KeepsAsManyMicrobatchesAsItsSourceSays) {
  for (const PipelineShape& shape : shapes()) {
    const std::int64_t p = shape.stages, m = shape.microbatches;
    for (std::int64_t s = 0; s < p; ++s) {
      const auto index = static_cast<std::size_t>(s);
      EXPECT_EQ(kept(pipeline_schedule(kGpipe, shape)[index]), m);
      EXPECT_EQ(kept(pipeline_schedule(k1f1b, shape)[index]), std::min(p - s, m));
      EXPECT_LE(kept(pipeline_schedule(kZeroBubble, shape)[index]), std::min(p, m));
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
