// SPDX-License-Identifier: Apache-2.0
//
// sgd, adam and lookahead against the reference, for every device with kernels (test_support.h).
#include "kernels/cpu/test_support.h"
#include "kernels/cpu/update_for_test.h"

namespace regatta::cpu::test {
namespace {

const Dims kSizes[] = {{1}, {5, 1}, {64, 3, 3, 24}, {2 * kShardElements + 5}};

OpCase sgd(const Dims& dims, double momentum, std::int64_t nesterov) {
  return {Op::Sgd,
          sgd_attributes(momentum, nesterov),
          {random_array(dims, 1)},
          {random_array(dims, 2), random_array(dims, 3)},
          "sgd"};
}

/// A few roundings a step of numbers around 1.
constexpr Bound kBound{.absolute = 2e-6, .relative = 1e-6};

void expect_agrees_over_steps(const OpCase& op_case) {
  const OpResult expected = run_op(reference_table(), op_case, 1, 6);
  for (const Subject& subject : subjects()) {
    const OpResult actual = subject.run(op_case, 6);
    const std::string what = op_case.name + subject.name;
    expect_close(actual.variables, expected.variables, kBound, what);
    expect_same_bits(actual.variables, subject.run(op_case, 6).variables, what);
  }
}

TEST(Sgd, AgreesWithTheReferenceOverSteps) {
  for (const Dims& dims : kSizes) {
    expect_agrees_over_steps(sgd(dims, 0.9, 0));
    expect_agrees_over_steps(sgd(dims, 0.9, 1));
  }
}

TEST(Sgd, LeavesTheVelocityAloneWithoutMomentum) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case = sgd(dims, 0, 0);
    const OpResult expected = run_op(reference_table(), op_case, 1, 6);
    for (const Subject& subject : subjects()) {
      const OpResult actual = subject.run(op_case, 6);
      expect_close({actual.variables[0]}, {expected.variables[0]}, kBound, "parameter");
      expect_same_bits({actual.variables[1]}, {op_case.variables[1]}, "velocity" + subject.name);
    }
  }
}

TEST(Adam, AgreesWithTheReferenceOverSteps) {
  for (const Dims& dims : kSizes) {
    Array second = random_array(dims, 4);
    for (std::int64_t i = 0; i < second.type.elements(); ++i) {
      second.f32()[i] = std::abs(second.f32()[i]) + 0.1F;
    }
    expect_agrees_over_steps({Op::Adam,
                              with_schedule({{"beta1", 0.9},
                                             {"beta2", 0.999},
                                             {"epsilon", 1e-8},
                                             {"weight_decay", 0.1},
                                             {"weight", 0.5}},
                                            {0.1, 0.2}),
                              {random_array(dims, 1)},
                              {random_array(dims, 2), random_array(dims, 3), second},
                              "adam"});
  }
}

OpCase lookahead(const Dims& dims) {
  return {Op::Lookahead,
          with_schedule({{"every", std::int64_t{3}},
                         {"after", std::int64_t{0}},
                         {"global_batch", std::int64_t{10}},
                         {"total_examples", std::int64_t{1000}}},
                        {0.5, 0.9}),
          {},
          {random_array(dims, 1), random_array(dims, 2)},
          "lookahead"};
}

/// Runs steps of its period, and others, each as if it were the run's last.
TEST(Lookahead, AgreesWithTheReferenceOverTwoPeriods) {
  for (const Dims& dims : kSizes) expect_agrees_over_steps(lookahead(dims));
}

}  // namespace
}  // namespace regatta::cpu::test
