// SPDX-License-Identifier: Apache-2.0
//
// top_k after all_reduce: with all elements it follows `single`; with fewer it sends the bytes of
// its formula, leaves the same parameters at every worker, and sends later the elements that it
// left out. After sharded it gives the same bits; after a server, with all elements, those of the
// server.
#include <gtest/gtest.h>

#include <cmath>

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

Case case_of(const std::string& workload, std::int64_t workers, std::int64_t batch, double share) {
  return {.workload = workload,
          .strategy = "all_reduce+top_k",
          .replicas = workers,
          .global_batch = batch,
          .options = {{"share", share}}};
}

TEST(TopK, OfAllElementsFollowsSingle) {
  for (const std::int64_t workers : {1, 2, 3, 5}) {
    for (const std::int64_t batch : {50, 49}) {
      const Case test = case_of("parabola", workers, batch, 1);
      const Deviation found = deviation_from_single(test, result_of(test));
      EXPECT_LT(found.losses, bounds_of(test).losses) << workers;
      EXPECT_LT(found.parameters, bounds_of(test).parameters) << workers;
    }
  }
  const Case images = case_of("resnet9_thin", 2, 80, 1);
  const Deviation found = deviation_from_single(images, result_of(images));
  EXPECT_LT(found.losses, bounds_of(images).losses);
  EXPECT_LT(found.parameters, bounds_of(images).parameters);
}

Case with(Case test, const std::string& strategy, const OptionValues& options) {
  test.strategy = strategy;
  for (const auto& [name, value] : options) test.options[name] = value;
  return test;
}

TEST(TopK, BehindShardedGivesTheBitsOfAllReduce) {
  for (const std::int64_t workers : {1, 2, 3}) {
    const Case whole = case_of("resnet9_thin", workers, 80, 0.1);
    for (const char* shard : {"optimizer", "gradients", "parameters"}) {
      const Result found = result_of(with(whole, "sharded+top_k", {{"shard", std::string(shard)}}));
      EXPECT_EQ(found.losses, result_of(whole).losses) << shard << ' ' << workers;
      EXPECT_EQ(found.parameters, result_of(whole).parameters) << shard << ' ' << workers;
    }
  }
}

/// Also with parameters cut between servers, and uneven shares of examples.
TEST(TopK, OfAllElementsPushedGivesTheBitsOfTheServer) {
  for (const std::int64_t servers : {1, 2, 3}) {
    for (const std::int64_t workers : {1, 2, 3}) {
      for (const char* workload : {"parabola", "resnet9_thin"}) {
        const std::int64_t batch = std::string(workload) == "parabola" ? 49 : 80;
        const Case pushes = with(case_of(workload, workers, batch, 1), "parameter_server+top_k",
                                 {{"servers", servers}});
        Case server = with(pushes, "parameter_server", {});
        server.options.erase("share");
        EXPECT_EQ(result_of(pushes).losses, result_of(server).losses) << workload << workers;
        EXPECT_EQ(result_of(pushes).parameters, result_of(server).parameters);
      }
    }
  }
}

/// The server adds up in the order of the workers, a gather in that of the ring.
TEST(TopK, PushedFollowsAllReduce) {
  const Case whole = case_of("resnet9_thin", 3, 80, 0.1);
  const Case pushes = with(whole, "parameter_server+top_k", {});
  const Deviation found = testing_support::deviation(
      result_of(pushes), result_of(whole), testing_support::first_parameters(step_of(whole)));
  EXPECT_LT(found.losses, bounds_of(whole).losses);
  EXPECT_LT(found.parameters, bounds_of(whole).parameters);
}

/// Sizes of a step's gradients. Units: bytes.
struct Sizes {
  std::int64_t selected = 0;  ///< by a worker: values and indices
  std::int64_t all = 0;
};

Sizes sizes_of(const Graph& graph, double share) {
  Sizes sizes;
  for (const Variable& variable : graph.variables()) {
    if (variable.kind != VariableKind::Parameter) continue;
    const double part = share * static_cast<double>(variable.type.elements());
    sizes.selected += 8 * std::max<std::int64_t>(1, std::llround(part));
    sizes.all += variable.type.bytes();
  }
  return sizes;
}

void expect_bytes(const Case& test, std::int64_t bytes) {
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  testing_support::expect_bytes_of_a_step(trial, testing_support::steps_of(test), bytes);
}

/// Each worker's selection goes to every other, or to the server, which sends the parameters.
TEST(TopK, SendsValuesAndIndicesInPlaceOfTheGradient) {
  for (const std::int64_t workers : {2, 3}) {
    for (const double share : {0.01, 0.1}) {
      SCOPED_TRACE(share);
      const Case test = case_of("resnet9_thin", workers, 80, share);
      const Sizes sizes = sizes_of(step_of(test).graph, share);
      expect_bytes(test, workers * (workers - 1) * sizes.selected);
      expect_bytes(with(test, "sharded+top_k", {}),
                   workers * (workers - 1) * sizes.selected + (workers - 1) * sizes.all);
      expect_bytes(with(test, "parameter_server+top_k", {}),
                   workers * (sizes.selected + sizes.all));
    }
  }
}

TEST(TopK, LeavesTheSameParametersButOtherErrorsAtEveryWorker) {
  const Case test = case_of("resnet9_thin", 3, 80, 0.1);
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  int errors = 0;
  for (const Variable& variable : trial.graph().variables()) {
    if (variable.place.replica != 0) continue;
    const std::vector<float> first = values_at(trial, variable.name, 0);
    const std::vector<float> last = values_at(trial, variable.name, 2);
    if (variable.kind == VariableKind::Parameter) {
      EXPECT_EQ(first, last) << variable.name;
    } else if (variable.name.ends_with(".top_k_error")) {
      EXPECT_NE(first, last) << variable.name;
      ++errors;
    }
  }
  EXPECT_GT(errors, 5);
}

/// One element of five or of one at a time, and yet the loss falls: waiting elements are not lost.
TEST(TopK, SendsLaterWhatItLeavesOut) {
  const Case test = case_of("parabola", 2, 50, 0.01);
  testing_support::TrialOptions options = options_of(test);
  options.steps = 400;
  Trial trial(step_of(test), data_of(test.workload), options);
  const std::vector<float> losses = trial.losses();
  EXPECT_LT(losses.back(), 0.5F * losses.front());
}

TEST(TopK, RefusesWhatItCannotCompress) {
  const Case alone{.workload = "parabola", .strategy = "top_k", .global_batch = 50};
  EXPECT_THROW(Trial(step_of(alone), data_of("parabola"), options_of(alone)), RunError);
  for (const char* strategy : {"in_graph+top_k", "all_reduce+top_k+powersgd", "sharded+top_k+top_k",
                               "parameter_server+top_k+top_k", "parameter_server_async+top_k"}) {
    const Case behind{
        .workload = "parabola", .strategy = strategy, .replicas = 2, .global_batch = 50};
    EXPECT_THROW(Trial(step_of(behind), data_of("parabola"), options_of(behind)), RunError);
  }
}

}  // namespace
}  // namespace regatta::strategies
