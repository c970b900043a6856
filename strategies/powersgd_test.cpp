// SPDX-License-Identifier: Apache-2.0
//
// powersgd after all_reduce: with full rank it follows `single`; with less it sends the bytes of
// its formula, leaves the same parameters at every worker, and sends later the part that it left
// out. After sharded it gives the same bits.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/replica_values_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::bounds_of;
using testing_support::Case;
using testing_support::data_of;
using testing_support::Deviation;
using testing_support::deviation_from_single;
using testing_support::options_of;
using testing_support::Result;
using testing_support::result_of;
using testing_support::step_of;
using testing_support::Trial;
using testing_support::values_at;

Case case_of(const std::string& workload, std::int64_t workers, std::int64_t batch,
             std::int64_t rank) {
  return {.workload = workload,
          .strategy = "all_reduce+powersgd",
          .replicas = workers,
          .global_batch = batch,
          .options = {{"rank", rank}}};
}

/// The parabola's weights are [5, 1] and [1, 5].
TEST(PowerSgd, OfFullRankFollowsSingle) {
  for (const std::int64_t workers : {1, 2, 3, 5}) {
    for (const std::int64_t batch : {50, 49}) {
      const Case test = case_of("parabola", workers, batch, 1);
      const Deviation found = deviation_from_single(test, result_of(test));
      EXPECT_LT(found.losses, bounds_of(test).losses) << workers;
      EXPECT_LT(found.parameters, bounds_of(test).parameters) << workers;
    }
  }
}

/// A share of a bucket has a gradient's part, all of it, or none.
TEST(PowerSgd, BehindShardedGivesTheBitsOfAllReduce) {
  for (const char* shard : {"optimizer", "gradients", "parameters"}) {
    for (const std::int64_t workers : {1, 2, 3}) {
      SCOPED_TRACE(std::string(shard) + ", " + std::to_string(workers));
      Case whole = case_of("resnet9_thin", workers, 80, 2);
      // The order of a ring of three depends on the place in a bucket.
      whole.options["bucket_bytes"] = std::int64_t{workers < 3 ? 64 << 10 : 0};
      Case shares = whole;
      shares.strategy = "sharded+powersgd";
      shares.options["shard"] = std::string(shard);
      const Result found = result_of(shares);
      EXPECT_EQ(found.losses, result_of(whole).losses);
      EXPECT_EQ(found.parameters, result_of(whole).parameters);
    }
  }
}

/// Sizes of a step's gradients. Units: bytes.
struct Sizes {
  std::int64_t whole = 0;  ///< gradients that are sent whole
  std::int64_t thin = 0;   ///< the two matrices that replace each other gradient
  std::int64_t all = 0;    ///< all gradients
};

/// Gradients as matrices [O, I K K] of resnet9_thin, [P O, I] of a language model; those with a
/// side below the rank are sent whole.
Sizes sizes_of(const Graph& source, std::int64_t rank) {
  Sizes sizes;
  for (const Variable& variable : source.variables()) {
    if (variable.kind != VariableKind::Parameter) continue;
    const std::int64_t all = variable.type.elements();
    const std::size_t rank_of = variable.type.rank();
    const std::int64_t rows =
        rank_of < 2 ? 0 : variable.type.dim(0) * (rank_of == 3 ? variable.type.dim(1) : 1);
    const bool whole = rows == 0 || std::min(rows, all / rows) < rank;
    (whole ? sizes.whole : sizes.thin) += 4 * (whole ? all : rank * (rows + all / rows));
    sizes.all += 4 * all;
  }
  return sizes;
}

void expect_bytes(const Case& test, std::int64_t bytes) {
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  testing_support::expect_bytes_of_a_step(trial, testing_support::steps_of(test), bytes);
}

/// A ring of two sends a sum's bytes once, and half of the bytes that it scatters or gathers.
TEST(PowerSgd, SendsTheTwoMatricesInPlaceOfTheGradient) {
  for (const std::int64_t rank : {1, 2, 4}) {
    SCOPED_TRACE(rank);
    Case test = case_of("resnet9_thin", 2, 80, rank);
    const Sizes sizes = sizes_of(step_of(test).graph, rank);
    EXPECT_GT(sizes.all, 10 * (sizes.whole + sizes.thin));
    expect_bytes(test, 2 * (sizes.whole + sizes.thin));
    test.strategy = "sharded+powersgd";
    expect_bytes(test, 2 * sizes.thin + sizes.whole + sizes.all);
  }
  const Case language = case_of("gpt_narrow_sgd", 2, 12, 1);
  const Sizes sizes = sizes_of(step_of(language).graph, 1);
  expect_bytes(language, 2 * (sizes.whole + sizes.thin));
}

TEST(PowerSgd, LeavesTheSameParametersAndFactorsButOtherErrorsAtEveryWorker) {
  const Case test = case_of("resnet9_thin", 3, 80, 2);
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  int factors = 0;
  for (const Variable& variable : trial.graph().variables()) {
    if (variable.place.replica != 0) continue;
    const bool is_factor = variable.name.ends_with(".powersgd_factor");
    const bool is_error = variable.name.ends_with(".powersgd_error");
    factors += is_factor ? 1 : 0;
    const std::vector<float> first = values_at(trial, variable.name, 0);
    const std::vector<float> last = values_at(trial, variable.name, 2);
    if (is_factor || variable.kind == VariableKind::Parameter) {
      EXPECT_EQ(first, last) << variable.name;
    } else if (is_error) {
      EXPECT_NE(first, last) << variable.name;
    }
  }
  EXPECT_GT(factors, 5);
}

TEST(PowerSgd, RefusesWhatItCannotCompress) {
  const Case alone{.workload = "parabola", .strategy = "powersgd", .global_batch = 50};
  EXPECT_THROW(Trial(step_of(alone), data_of("parabola"), options_of(alone)), RunError);
  for (const char* strategy : {"in_graph+powersgd", "parameter_server+powersgd",
                               "sharded+powersgd+powersgd", "sharded+bf16_compress"}) {
    const Case behind{
        .workload = "parabola", .strategy = strategy, .replicas = 2, .global_batch = 50};
    EXPECT_THROW(Trial(step_of(behind), data_of("parabola"), options_of(behind)), RunError);
  }
  const Case large = case_of("parabola", 2, 50, 6);
  EXPECT_THROW(Trial(step_of(large), data_of("parabola"), options_of(large)), RunError);
}

}  // namespace
}  // namespace regatta::strategies
