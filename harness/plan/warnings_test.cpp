// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/training_options.h"

namespace regatta::plan {
namespace {

/// The warning for a request whose graph does not matter.
std::string warning_of(const RaceRequest& request, const system::MachineFacts& machine) {
  return regatta::plan::warning_of(request, machine, Graph());
}

std::string warning_of_placed(const RaceRequest& request) {
  return regatta::plan::warning_of(request, {}, place_without_data(request).placed->step.graph);
}

const system::MachineFacts kWithoutAmx{.isa = {"avx2", "avx512f", "avx512_bf16"}};
const system::MachineFacts kWithAmx{.isa = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"}};

TEST(Warnings, AreOfBf16WhereTheProcessorHasNoAmx) {
  RaceRequest request;
  request.dtype = "bf16";
  EXPECT_THAT(warning_of(request, kWithoutAmx), testing::HasSubstr("slower than --dtype f32"));
  EXPECT_EQ(warning_of(request, kWithAmx), "");
  request.device = "cuda";
  EXPECT_EQ(warning_of(request, kWithoutAmx), "");
}

TEST(Warnings, AreOfGpusThatWorkersOfOneProcessLeaveIdle) {
  const system::MachineFacts two{.gpus = {"one", "another"}};
  RaceRequest request;
  request.strategy = "all_reduce";
  request.workers = 4;
  request.device = "cuda";
  EXPECT_THAT(warning_of(request, two), testing::HasSubstr("--processes 4 gives each its own"));
  EXPECT_EQ(warning_of(request, {.gpus = {"one"}}), "");
  request.processes = 4;
  EXPECT_EQ(warning_of(request, two), "");
  request.processes.reset();
  request.strategy = "in_graph";
  EXPECT_EQ(warning_of(request, two), "");
}

TEST(Warnings, AreOfSharesInTooFewBucketsToFreeAny) {
  RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "sharded";
  request.workers = 4;
  EXPECT_EQ(warning_of_placed(request), "");
  request.options["shard"] = "parameters";  // a bucket ends where a layer does
  EXPECT_EQ(warning_of_placed(request), "");
  request.options["shard"] = "gradients";
  EXPECT_EQ(warning_of_placed(request),
            "--shard gradients plans as much memory as optimizer, as the parameters make 1 bucket "
            "only; a smaller --bucket-bytes makes more");
  request.options["bucket_bytes"] = 262144;
  EXPECT_EQ(warning_of_placed(request), "");
}

TEST(Warnings, AreNoneOfF32) { EXPECT_EQ(warning_of({}, kWithoutAmx), ""); }

}  // namespace
}  // namespace regatta::plan
