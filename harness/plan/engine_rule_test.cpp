// SPDX-License-Identifier: Apache-2.0
//
// Tests which cuDNN engines a run uses, and how its cell and its name show them.
#include "harness/plan/engine_rule.h"

#include <gtest/gtest.h>

#include "harness/judge/cell_runs.h"
#include "harness/plan/cell.h"
#include "kernels/base/error_for_test.h"

namespace regatta::plan {
namespace {

RaceRequest request_on(const std::string& device) {
  RaceRequest request;
  request.workload = "parabola";
  request.device = device;
  request.steps = 1;
  return request;
}

record::Record record_of(const RaceRequest& request) {
  record::Record record;
  record.cell = cell_of(request, place(request, 50), {.dataset = "curve", .cores = 1});
  return record;
}

std::string error_of(const RaceRequest& request) {
  return regatta::testing_support::error_of([&] { place(request, 50); }, ErrorKind::Usage);
}

TEST(EngineRule, IsTimedUnlessARunAsksForTheHeuristics) {
  RaceRequest request = request_on("cuda");
  EXPECT_EQ(engines_of(place(request, 50)), EngineRule::Timed);
  EXPECT_EQ(record_of(request).cell.cudnn_engine, "timed");
  EXPECT_EQ(judge::cell_name(record_of(request)).find("cudnn_engine"), std::string::npos);
  request.cudnn_engine = "timed";
  EXPECT_EQ(engines_of(place(request, 50)), EngineRule::Timed);
  request.cudnn_engine = "heuristic";
  EXPECT_EQ(engines_of(place(request, 50)), EngineRule::Heuristic);
  EXPECT_EQ(record_of(request).cell.cudnn_engine, "heuristic");
  EXPECT_NE(judge::cell_name(record_of(request)).find(" cudnn_engine=heuristic"),
            std::string::npos);
}

TEST(EngineRule, IsNoneOfTheCpus) {
  RaceRequest request = request_on("cpu");
  EXPECT_EQ(place(request, 50).engines, std::nullopt);
  EXPECT_EQ(record_of(request).cell.cudnn_engine, std::nullopt);
  for (const char* asked : {"timed", "heuristic"}) {
    request.cudnn_engine = asked;
    EXPECT_EQ(error_of(request), std::string("--cudnn-engine ") + asked +
                                     " cannot be: it is for --device cuda; fix: leave it out");
  }
}

TEST(EngineRule, IsOneOfTwo) {
  RaceRequest request = request_on("cuda");
  request.cudnn_engine = "time";
  EXPECT_NE(error_of(request).find("did you mean 'timed'?"), std::string::npos)
      << error_of(request);
}

}  // namespace
}  // namespace regatta::plan
