// SPDX-License-Identifier: Apache-2.0
//
// powersgd behind all_reduce: of full rank it follows `single`; of less it sends what its formula
// says, leaves the same parameters at every worker, and what it leaves out comes later.
#include <gtest/gtest.h>

#include "kernels/graph/error.h"
#include "kernels/graph/traffic.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/replica_values_for_test.h"

namespace regatta {
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

/// As matrices [O, I K K] of resnet9_thin; those with a side below the rank are sent whole.
std::int64_t bytes_by_formula(const Graph& source, std::int64_t rank) {
  std::int64_t numbers = 0;
  for (const Variable& variable : source.variables()) {
    if (variable.kind != VariableKind::Parameter || variable.place.replica != 0) continue;
    const std::int64_t all = variable.type.elements();
    const std::int64_t rows = variable.type.rank() < 2 ? 0 : variable.type.dim(0);
    const bool whole = rows == 0 || std::min(rows, all / rows) < rank;
    numbers += whole ? all : rank * (rows + all / rows);
  }
  return numbers * 4;
}

TEST(PowerSgd, SendsTheTwoMatricesInPlaceOfTheGradient) {
  for (const std::int64_t rank : {1, 2, 4}) {
    const Case test = case_of("resnet9_thin", 2, 80, rank);
    Trial trial(step_of(test), data_of(test.workload), options_of(test));
    const std::int64_t steps = testing_support::steps_of(test);
    // A ring of two sends all of a sum once.
    EXPECT_EQ(bytes_per_step(trial.graph(), steps), 2 * bytes_by_formula(trial.graph(), rank));
    std::int64_t counted = 0;
    for (const auto& [place, traffic] : trial.counted()) counted += traffic.sent;
    EXPECT_EQ(counted, steps * 2 * bytes_by_formula(trial.graph(), rank)) << rank;
  }
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
  const Case behind{
      .workload = "parabola", .strategy = "in_graph+powersgd", .replicas = 2, .global_batch = 50};
  EXPECT_THROW(Trial(step_of(behind), data_of("parabola"), options_of(behind)), RunError);
  const Case large = case_of("parabola", 2, 50, 6);
  EXPECT_THROW(Trial(step_of(large), data_of("parabola"), options_of(large)), RunError);
}

}  // namespace
}  // namespace regatta
