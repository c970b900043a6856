// SPDX-License-Identifier: Apache-2.0
//
// Strategies that compress an exchange: without loss they follow `single`; with loss they send the
// bytes of their formulas, leave the same parameters at every worker, and send the rest later.
// After sharded each gives the bits that it gives after all_reduce.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/quantization.h"
#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

/// Runs the case; fails if it does not send `bytes` a step over all places, both as computed from
/// the graph and as counted.
void expect_bytes(const Case& test, std::int64_t bytes) {
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  const std::int64_t steps = testing_support::steps_of(test);
  EXPECT_EQ(bytes_per_step(trial.graph(), steps), bytes);
  std::int64_t counted = 0;
  for (const auto& [place, traffic] : trial.counted()) counted += traffic.sent;
  EXPECT_EQ(counted, steps * bytes);
}

void expect_within_bounds(const Deviation& found, const Case& test) {
  EXPECT_LT(found.losses, bounds_of(test).losses);
  EXPECT_LT(found.parameters, bounds_of(test).parameters);
}

Case with_strategy(Case test, const std::string& strategy, const OptionValues& more = {}) {
  test.strategy = strategy;
  for (const auto& [name, value] : more) test.options[name] = value;
  return test;
}

/// All elements, and matrices [5, 1] and [1, 5] of rank 1.
TEST(Compressed, WithoutLossFollowsSingle) {
  for (const Case& test : cases_of("", {"parabola {50,49} all_reduce+powersgd {1,2,3,5} rank=1",
                                        "parabola {50,49} all_reduce+top_k {1,2,3,5} share=1.0",
                                        "resnet9_thin 80 all_reduce+top_k 2 share=1.0"})) {
    SCOPED_TRACE(name_of(test));
    expect_within_bounds(deviation_from_single(test, result_of(test)), test);
  }
}

/// A share of a bucket has a gradient's part, all of it, or none. The order of a ring of three
/// depends on the place in a bucket, where powersgd's two matrices are exchanged.
TEST(Compressed, BehindShardedGivesTheBitsOfAllReduce) {
  for (const Case& whole :
       cases_of("resnet9_thin 80 ",
                {"all_reduce+powersgd {1,2} rank=2 bucket_bytes=65536",
                 "all_reduce+powersgd 3 rank=2 bucket_bytes=0",
                 "all_reduce+top_k {1,2,3} share=0.1", "all_reduce+quantized {1,2,3}"})) {
    const std::string compressor = whole.strategy.substr(whole.strategy.find('+'));
    for (const char* shard : {"optimizer", "gradients", "parameters"}) {
      SCOPED_TRACE(name_of(whole) + shard);
      const Result found =
          result_of(with_strategy(whole, "sharded" + compressor, {{"shard", shard}}));
      EXPECT_EQ(found.losses, result_of(whole).losses);
      EXPECT_EQ(found.parameters, result_of(whole).parameters);
    }
  }
}

/// The values of an f32 variable; fails the test if the replica has none of that name.
std::vector<float> values_at(Trial& trial, const std::string& name, int replica) {
  for (VariableId v = 0; v < std::ssize(trial.graph().variables()); ++v) {
    const Variable& variable = trial.graph().variable(v);
    if (variable.name != name || variable.place.replica != replica) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    return {tensor.f32(), tensor.f32() + tensor.elements()};
  }
  ADD_FAILURE() << "there is no " << name;
  return {};
}

TEST(Compressed, LeavesTheSameParametersAndFactorsButOtherErrorsAtEveryWorker) {
  for (const Case& test :
       cases_of("resnet9_thin 80 ", {"all_reduce+powersgd 3 rank=2", "all_reduce+top_k 3 share=0.1",
                                     "all_reduce+quantized 3", "diloco+quantized 3 sync_every=2",
                                     "all_reduce+bf16_compress 3"})) {
    SCOPED_TRACE(name_of(test));
    Trial trial(step_of(test), data_of(test.workload), options_of(test));
    int same = 0, errors = 0;
    for (const Variable& variable : trial.graph().variables()) {
      if (variable.place.replica != 0) continue;
      const std::vector<float> first = values_at(trial, variable.name, 0);
      const std::vector<float> last = values_at(trial, variable.name, 2);
      if (variable.kind == VariableKind::Parameter || variable.name.ends_with(".powersgd_factor")) {
        EXPECT_EQ(first, last) << variable.name;
        ++same;
      } else if (variable.name.ends_with("_error")) {
        EXPECT_NE(first, last) << variable.name;
        ++errors;
      }
    }
    EXPECT_GT(same, test.strategy.ends_with("powersgd") ? 10 : 5);
    EXPECT_TRUE(errors > 5 || test.strategy.ends_with("bf16_compress"));
  }
}

/// compositions_test covers other strategies before and behind.
TEST(Compressed, RefusesWhatItCannotCompress) {
  for (const Case& test : cases_of(
           "parabola 50 ", {"all_reduce+top_k+powersgd 2", "top_k", "all_reduce+quantized 2 bits=5",
                            "all_reduce+powersgd 2 rank=6"})) {
    EXPECT_THROW(Trial(step_of(test), data_of("parabola"), options_of(test)), RunError)
        << name_of(test);
  }
}

/// Sizes of a step's gradients. Units: bytes.
struct Sizes {
  std::int64_t sent = 0;   ///< in place of gradients: selected elements, parts, two matrices
  std::int64_t whole = 0;  ///< gradients that are sent whole
  std::int64_t all = 0;
};

/// Adds up `sent` of each parameter; of 0 bytes the parameter is sent whole.
template <typename Sent>
Sizes sizes_of(const Case& test, const Sent& sent) {
  Sizes sizes;
  const Step step = step_of(test);
  for (const Variable& variable : step.graph.variables()) {
    if (variable.kind != VariableKind::Parameter) continue;
    const std::int64_t bytes = sent(variable.type);
    sizes.sent += bytes;
    sizes.whole += bytes == 0 ? variable.type.bytes() : 0;
    sizes.all += variable.type.bytes();
  }
  return sizes;
}

/// Gradients are matrices [O, I K K] of resnet9_thin, [P O, I] of a language model; those with a
/// side below the rank are sent whole.
Sizes sizes_of_rank(const Case& test, std::int64_t rank) {
  return sizes_of(test, [rank](const TensorType& type) {
    if (type.rank() < 2) return std::int64_t{0};
    const std::int64_t rows = type.dim(0) * (type.rank() == 3 ? type.dim(1) : 1);
    const std::int64_t columns = type.elements() / rows;
    return std::min(rows, columns) < rank ? 0 : 4 * rank * (rows + columns);
  });
}

/// A ring of two sends a sum's bytes once, and half of the bytes that it scatters or gathers.
TEST(PowerSgd, SendsTheTwoMatricesInPlaceOfTheGradient) {
  for (const std::int64_t rank : {1, 2, 4}) {
    SCOPED_TRACE(rank);
    Case test = case_of("resnet9_thin 80 all_reduce+powersgd 2");
    test.options["rank"] = rank;
    const Sizes sizes = sizes_of_rank(test, rank);
    EXPECT_GT(sizes.all, 10 * (sizes.whole + sizes.sent));
    expect_bytes(test, 2 * (sizes.whole + sizes.sent));
    expect_bytes(with_strategy(test, "sharded+powersgd"), 2 * sizes.sent + sizes.whole + sizes.all);
  }
  const Case language = case_of("gpt_narrow_sgd 12 all_reduce+powersgd 2 rank=1");
  const Sizes sizes = sizes_of_rank(language, 1);
  expect_bytes(language, 2 * (sizes.whole + sizes.sent));
}

/// Also with parameters cut between servers, and uneven shares of examples.
TEST(TopK, OfAllElementsPushedGivesTheBitsOfTheServer) {
  for (const Case& pushes :
       cases_of("", {"{parabola 49,resnet9_thin 80} parameter_server+top_k {1,2,3} "
                     "servers={1,2,3} share=1.0"})) {
    SCOPED_TRACE(name_of(pushes));
    Case server = with_strategy(pushes, "parameter_server");
    server.options.erase("share");
    EXPECT_EQ(result_of(pushes).losses, result_of(server).losses);
    EXPECT_EQ(result_of(pushes).parameters, result_of(server).parameters);
  }
}

/// The server adds up in the order of the workers, a gather in that of the ring.
TEST(TopK, PushedFollowsAllReduce) {
  const Case whole = case_of("resnet9_thin 80 all_reduce+top_k 3 share=0.1");
  const Case pushes = with_strategy(whole, "parameter_server+top_k");
  expect_within_bounds(
      deviation(result_of(pushes), result_of(whole), first_parameters(step_of(whole))), whole);
}

/// Each worker's selection goes to every other, or to the server, which sends the parameters.
TEST(TopK, SendsValuesAndIndicesInPlaceOfTheGradient) {
  for (const std::int64_t workers : {2, 3}) {
    for (const double share : {0.01, 0.1}) {
      SCOPED_TRACE(share);
      Case test = case_of("resnet9_thin 80 all_reduce+top_k");
      test.replicas = workers;
      test.options["share"] = share;
      const Sizes sizes = sizes_of(test, [share](const TensorType& type) {
        const double part = share * static_cast<double>(type.elements());
        return 8 * std::max<std::int64_t>(1, std::llround(part));
      });
      const std::int64_t selected = workers * (workers - 1) * sizes.sent;
      expect_bytes(test, selected);
      expect_bytes(with_strategy(test, "sharded+top_k"), selected + (workers - 1) * sizes.all);
      expect_bytes(with_strategy(test, "parameter_server+top_k"),
                   workers * (sizes.sent + sizes.all));
    }
  }
}

/// The result of 400 steps of the parabola.
Result trained(Case test) {
  test.steps = 400;
  return result_of(test);
}

/// One element of five or of one at a time, and yet the loss falls: waiting elements are not lost.
TEST(TopK, SendsLaterWhatItLeavesOut) {
  const Result run = trained(case_of("parabola 50 all_reduce+top_k 2 share=0.01"));
  EXPECT_LT(run.losses.back(), 0.5F * run.losses.front());
}

/// Each worker sends every part but its own, then gathers the sums; after sharded, parameters, too.
TEST(Quantized, SendsAQuarterOrAnEighthOfAllReduce) {
  const auto sizes_for = [](const Case& test, std::int64_t bits) {
    return sizes_of(test, [&](const TensorType& type) {
      return 4 * quantized_part(type.elements(), test.replicas, bits).words();
    });
  };
  for (const std::int64_t n : {2, 3, 4}) {
    for (const std::int64_t bits : {8, 4}) {
      Case test = case_of("resnet9_thin 80 all_reduce+quantized");
      test.replicas = n;
      test.options["bits"] = bits;
      const Sizes sizes = sizes_for(test, bits);
      expect_bytes(test, 2 * n * (n - 1) * sizes.sent);
      const double share = static_cast<double>(n * sizes.sent) / static_cast<double>(sizes.all);
      EXPECT_GT(share, static_cast<double>(bits) / 32 + 1.0 / 256);
      EXPECT_LT(share, static_cast<double>(bits) / 32 + 1.1 / 256) << n;
      expect_bytes(with_strategy(test, "sharded+quantized"),
                   2 * n * (n - 1) * sizes.sent + (n - 1) * sizes.all);
    }
  }
  const Case test = case_of("resnet9_thin 80 diloco+quantized 3 sync_every=2 steps=4");
  expect_bytes(test, 3 * 2 * sizes_for(test, 8).sent);
}

/// Bits of 8 and 4 round by at most 1 / 254 and 1 / 14 of the largest in a block. The errors of ten
/// steps do not add up. Measured: 0.010 and 0.18 after a step; 0.013 and 0.044 after ten, and 0.11
/// if either of the two errors is lost.
TEST(Quantized, SendsLaterWhatItRoundsOff) {
  const auto deviation_of = [](const std::string& workers, const std::string& options) {
    const std::string begin = "resnet9_thin 80 all_reduce";
    const Case test = case_of(begin + "+quantized " + workers + options);
    const Case whole = case_of(begin + " " + workers + options.substr(0, options.find(" bits")));
    return deviation(result_of(test), result_of(whole), first_parameters(step_of(test)));
  };
  for (const std::string workers : {"2", "3"}) {
    EXPECT_LT(deviation_of(workers, " steps=1 bits=8").parameters, 0.015);
    EXPECT_GT(deviation_of(workers, " steps=1 bits=4").parameters, 0.1);
    EXPECT_LT(deviation_of(workers, " steps=10 bits=4").parameters, 0.06);
  }
}

TEST(Compressed, TrainsTheParabolaAsAllReduceDoes) {
  const Result whole = trained(case_of("parabola 49 all_reduce 3"));
  for (const Case& test : cases_of(
           "parabola 49 ", {"all_reduce+quantized 3 bits={8,4}", "all_reduce+bf16_compress 3"})) {
    const bool is_bf16 = test.strategy.ends_with("bf16_compress");
    const Deviation found = deviation(trained(test), whole, first_parameters(step_of(test)));
    EXPECT_LT(found.parameters, is_bf16 ? 5e-2 : 1e-3) << name_of(test);
    EXPECT_LT(found.losses, is_bf16 ? 5e-2 : 1e-2) << name_of(test);
  }
}

/// One step changes parameters by a multiple of the gradient. Each of n workers rounds its
/// gradient, and a sum is rounded n - 1 times, by 2^-8 each: n 2^-8 of the sum of the workers'
/// magnitudes, which for shares of one batch is near the magnitude of the sum. Measured: 0.0011 to
/// 0.0030, since errors of many elements are mostly smaller and differ in sign.
TEST(Bf16Compress, IsOffByRoundingAlone) {
  for (const Case& test :
       cases_of("", {"parabola 49 all_reduce+bf16_compress {1,2,3,5} steps=1 all_reduce="
                     "{ring,reduce_to_one,hierarchical_copy,double_tree,torus}",
                     "resnet9_thin 80 all_reduce+bf16_compress {2,3} steps=1"})) {
    SCOPED_TRACE(name_of(test));
    const Deviation found = deviation_from_single(test, result_of(test));
    const double rounding = static_cast<double>(test.replicas) * 0x1p-8;
    EXPECT_LT(found.parameters, rounding);
    EXPECT_GT(found.parameters, 0x1p-12);
    std::cout << name_of(test) << ": " << found << '\n';
    EXPECT_LT(found.losses, 1e-5) << "the first loss comes before any exchange";
  }
}

}  // namespace
}  // namespace regatta::strategies
