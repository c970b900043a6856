// SPDX-License-Identifier: Apache-2.0
//
// The basis of equivalence_test.cpp's bounds: how far rounding alone drives two runs apart, and
// that a wrong average of gradients is detected.
#include <gtest/gtest.h>

#include <iostream>

#include "kernels/cpu/lacks_for_test.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/passes.h"
#include "strategies/shared_options.h"

namespace regatta::strategies {
namespace {

using testing_support::bounds_of;
using testing_support::Case;
using testing_support::cases_of;
using testing_support::Deviation;
using testing_support::deviation_from_single;
using testing_support::Result;
using testing_support::result_of;
using testing_support::single_of;
using testing_support::TrialOptions;

/// Faults of the exchange. ByWorkers: gradients are averaged by workers instead of by examples, as
/// in other suites, or by microbatches; part r of n with m of B examples counts B / (n m) times its
/// due. Halved: replica 1 counts half.
enum class Fault { ByWorkers, Halved };

Step with_fault(const Step& placed, Fault fault, std::int64_t parts) {
  Step wrong = placed;
  wrong.graph = Graph();
  wrong.graph.copy_variables_of(placed.graph);
  for (Node node : placed.graph.nodes()) {
    const bool begins_backward =
        node.op == Op::MeanSquaredErrorBackward || node.op == Op::SoftmaxCrossEntropyBackward;
    if (begins_backward && fault == Fault::ByWorkers) {
      node.attributes.set("divisor", parts * placed.graph.type(node.inputs[0]).rows());
    } else if (begins_backward && node.place.replica == 1) {
      node.attributes.set("divisor", 2 * node.attributes.integer("divisor"));
    }
    wrong.graph.add(node);
  }
  return wrong;
}

/// The deviation of a strategy with a fault from `single`.
Deviation deviation_with(const Case& test, Fault fault) {
  TrialOptions options = options_of(test);
  options.options.given["bucket_bytes"] = 0;  // a trial fills the placed step's buckets
  const Step placed = apply(find_strategies(test.strategy), step_of(test), options.options);
  const std::int64_t parts =
      test.replicas > 1 ? test.replicas : options.options.count(kMicrobatches);
  const Result wrong =
      result_of(with_fault(placed, fault, parts), test, options_of(single_of(test)));
  return deviation_from_single(test, wrong);
}

struct Planted {
  Case test;
  Fault fault;
};

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsSeenThreeTimesAsFarAsTheBound) {
  const auto& [test, fault] = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  const Deviation wrong = deviation_with(test, fault);
  std::cout << "with the fault: " << wrong
            << "; without: " << deviation_from_single(test, result_of(test)) << '\n';
  EXPECT_GT(wrong.parameters, 3 * bounds_of(test).parameters);
}

/// Both faults for uneven shares; for two even ones an average by workers is right.
std::vector<Planted> with_each_fault(const Case& test) {
  if (test.replicas == 2) return {{test, Fault::Halved}};
  return {{test, Fault::ByWorkers}, {test, Fault::Halved}};
}

std::vector<Planted> planted_in(const std::vector<std::string>& texts) {
  std::vector<Planted> all;
  for (const Case& test : cases_of("", texts)) {
    for (const Planted& each : with_each_fault(test)) all.push_back(each);
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<Planted>& planted) {
  return name_of(planted.param.test) +
         (planted.param.fault == Fault::Halved ? "_halved" : "_by_workers");
}

INSTANTIATE_TEST_SUITE_P(Parabola, PlantedFault,
                         testing::ValuesIn(planted_in({"parabola 50 all_reduce 3"})), test_name);
INSTANTIATE_TEST_SUITE_P(Images, PlantedFault,
                         testing::ValuesIn(planted_in({"resnet9_thin 80 all_reduce 3{, bf16}",
                                                       "airbench94_narrow 64 all_reduce 2 bf16",
                                                       "mobilenet_v2_full_narrow 40 all_reduce 3",
                                                       "resnet9 64 all_reduce 2"})),
                         test_name);

/// A mean of the workers' or the microbatches' means over tokens, with AdamW, Muon and clipping,
/// which hide a wrong scale, and with SGD.
std::vector<Planted> planted_on_language() {
  std::vector<Planted> all =
      planted_in({"gpt_narrow{,_muon,_sgd} 11 all_reduce 3", "llama_narrow 11 all_reduce 3 bf16"});
  for (const Case& test : cases_of("", {"gpt_narrow{,_muon,_sgd} 11 single microbatches=3"})) {
    all.push_back({test, Fault::ByWorkers});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Language, PlantedFault, testing::ValuesIn(planted_on_language()),
                         test_name);

void expect_drifts_like_rounding(const std::vector<std::string>& texts) {
  for (const Case& test : cases_of("", texts)) {
    TrialOptions rounded = options_of(single_of(test));
    rounded.rounding = 0x1p-23;
    const Deviation drift = deviation_from_single(test, result_of(test));
    const Deviation of_rounding =
        deviation_from_single(test, result_of(step_of(test), test, rounded));
    EXPECT_LT(drift.parameters, 4 * of_rounding.parameters) << test.workload;
    std::cout << test.workload << ' ' << to_string(test.element) << ": drift " << drift
              << "; control " << of_rounding << '\n';
  }
}

/// Sums of forward also have another order, and rounding leads as far as other weights would.
TEST(Equivalence, OfShardsDriftsNoFurtherThanFirstWeightsOneRoundingApart) {
  expect_drifts_like_rounding({"parabola 50 tensor_parallel 1x1x3",
                               "resnet9_thin 80 tensor_parallel 1x1x3",
                               "mobilenet_v2_full_narrow 40 tensor_parallel 1x1x3"});
}

TEST(Equivalence, DriftsNoFurtherThanFirstWeightsOneRoundingApart) {
  expect_drifts_like_rounding({"parabola 50 all_reduce 5", "resnet9_thin 80 all_reduce 5",
                               "mobilenet_v2_full_narrow 40 all_reduce 5",
                               "resnet9 64 all_reduce 2"});
}

TEST(Equivalence, DriftsNoFurtherInBf16) {
  if (const std::string why = cpu::why_cpu_lacks(ElementType::BF16); !why.empty())
    GTEST_SKIP() << why;
  expect_drifts_like_rounding(
      {"resnet9_thin 80 all_reduce 5 bf16", "airbench94_narrow 64 all_reduce 2 bf16",
       "{resnet9_thin 80,airbench94_narrow 64} tensor_parallel 1x1x2 bf16"});
}

}  // namespace
}  // namespace regatta::strategies
