// SPDX-License-Identifier: Apache-2.0
//
// For tests of ops: runs one op by the kernels under test and by the reference, and bounds their
// difference. Tests that use subjects() do not depend on a device: kernels/cuda links them for its
// own kernels.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/reference/reference_kernels.h"

namespace regatta::cpu::test {

struct OpResult {
  std::vector<Array> outputs;
  std::vector<Array> variables;
};

/// A device configuration under test.
struct Subject {
  std::string name;  ///< end of messages: " on 2 threads"
  std::function<OpResult(const OpCase&, std::int64_t steps)> run;  ///< from step 0 on
};

/// All subjects, at least one. Each test program defines its own list (subjects_for_test.cpp).
const std::vector<Subject>& subjects();

/// The context of a test's step; each step has ten examples.
inline StepContext context_of(std::int64_t step) { return {.step = step, .examples = 10 * step}; }

/// Runs steps 0 … steps - 1 of the op and returns the final tensors.
inline OpResult run_op(const KernelTable& table, const OpCase& op_case, int threads,
                       std::int64_t steps = 1) {
  BuiltOp op(table, op_case, threads);
  for (std::int64_t step = 0; step < steps; ++step) op.run(context_of(step));
  return {.outputs = op.outputs(), .variables = op.variables()};
}

inline const KernelTable& reference_table() {
  static const KernelTable table = [] {
    KernelTable filled("reference");
    reference::add_reference_kernels(filled);
    return filled;
  }();
  return table;
}

/// The condition |actual - expected| <= absolute + relative * |expected|.
struct Bound {
  double absolute = 0;
  double relative = 0;
};

/// Error bound of a sum of `terms` products of values in [-1, 1]: partial sums grow to about
/// sqrt(terms), each addition errs by 2^-24 of that, and errors add up like a random walk: about
/// 2^-24 * terms. Eight times that leaves room for the worst of many elements.
inline Bound sum_of(std::int64_t terms) {
  return {.absolute = 8 * 0x1p-24 * static_cast<double>(terms), .relative = 0x1p-22};
}

/// Error bound of a result within `bound` after rounding to bf16 (8 bits of mantissa).
inline Bound rounded_to_bf16(const Bound& bound) {
  return {.absolute = bound.absolute + 0x1p-16, .relative = bound.relative + 0x1p-8};
}

inline void expect_close(const std::vector<Array>& actual, const std::vector<Array>& expected,
                         const Bound& bound, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t a = 0; a < actual.size(); ++a) {
    ASSERT_EQ(actual[a].type.dims, expected[a].type.dims) << what;
    const std::int64_t elements = actual[a].type.elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      const double want = static_cast<double>(expected[a].at(i));
      const double difference = std::abs(static_cast<double>(actual[a].at(i)) - want);
      // A NaN fails this comparison.
      ASSERT_TRUE(difference <= bound.absolute + bound.relative * std::abs(want))
          << what << ": output " << a << " element " << i << " is " << actual[a].at(i)
          << ", expected " << want;
    }
  }
}

inline void expect_same_bits(const std::vector<Array>& first, const std::vector<Array>& second,
                             const std::string& what) {
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t a = 0; a < first.size(); ++a) {
    EXPECT_EQ(std::memcmp(first[a].bytes.get(), second[a].bytes.get(),
                          static_cast<std::size_t>(first[a].type.bytes())),
              0)
        << what << ": output " << a;
  }
}

/// Checks that every subject agrees with the reference, and with its own second run bit by bit.
inline void expect_agrees(const OpCase& op_case, const Bound& bound) {
  const OpResult expected = run_op(reference_table(), op_case, 1);
  for (const Subject& subject : subjects()) {
    const std::string what = op_case.name + subject.name;
    const OpResult actual = subject.run(op_case, 1);
    expect_close(actual.outputs, expected.outputs, bound, what);
    expect_close(actual.variables, expected.variables, bound, what);
    const OpResult again = subject.run(op_case, 1);
    expect_same_bits(actual.outputs, again.outputs, what);
    expect_same_bits(actual.variables, again.variables, what);
  }
}

/// Rounds the first `count` inputs to bf16, runs the op, and compares its results with those of the
/// f32 reference for the same rounded values.
inline void expect_agrees_in_bf16(const OpCase& op_case, std::size_t count, const Bound& bound) {
  const OpResult expected = run_op(reference_table(), op_case, 1);
  OpCase halved{.op = op_case.op, .attributes = op_case.attributes, .name = op_case.name};
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    halved.inputs.push_back(i < count ? to_bf16(op_case.inputs[i]) : op_case.inputs[i]);
  }
  halved.variables = op_case.variables;
  for (const Subject& subject : subjects()) {
    const OpResult actual = subject.run(halved, 1);
    expect_close(actual.outputs, expected.outputs, rounded_to_bf16(bound),
                 op_case.name + " in bf16" + subject.name);
  }
}

}  // namespace regatta::cpu::test
