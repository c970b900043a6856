// SPDX-License-Identifier: Apache-2.0
//
// quantized after all_reduce, sharded and diloco: it sends the bytes of its formula, leaves the
// same parameters at every worker, and its errors, kept, do not add up. Other compressors of
// diloco's outer gradients: with nothing left out they give the bits of diloco, or nearly.
#include <gtest/gtest.h>

#include <iostream>

#include "kernels/base/error.h"
#include "kernels/graph/quantization.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/replica_values_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::Case;
using testing_support::data_of;
using testing_support::Deviation;
using testing_support::deviation;
using testing_support::first_parameters;
using testing_support::options_of;
using testing_support::Result;
using testing_support::result_of;
using testing_support::step_of;
using testing_support::Trial;
using testing_support::values_at;

Case case_of(const std::string& strategy, std::int64_t workers, OptionValues options = {}) {
  return {.workload = "resnet9_thin",
          .strategy = strategy,
          .replicas = workers,
          .global_batch = 80,
          .options = std::move(options)};
}

Case parabola(const std::string& strategy, std::int64_t workers, OptionValues options = {}) {
  Case test = case_of(strategy, workers, std::move(options));
  test.workload = "parabola";
  test.global_batch = 49;
  return test;
}

Deviation deviation_of(const Case& test, const Case& whole) {
  return deviation(result_of(test), result_of(whole), first_parameters(step_of(test)));
}

/// Parts of a step's gradients, and gradients in f32. Units: bytes.
struct Sizes {
  std::int64_t part = 0, all = 0;
};

Sizes sizes_of(const Case& test, std::int64_t bits) {
  Sizes sizes;
  for (const auto& [name, values] : first_parameters(step_of(test))) {
    const auto elements = static_cast<std::int64_t>(values.size());
    sizes.part += 4 * quantized_part(elements, test.replicas, bits).words();
    sizes.all += 4 * elements;
  }
  return sizes;
}

std::int64_t expect_bytes(const Case& test, std::int64_t bytes) {
  Trial trial(step_of(test), data_of(test.workload), options_of(test));
  testing_support::expect_bytes_of_a_step(trial, testing_support::steps_of(test), bytes);
  return bytes;
}

/// Each worker sends every part but its own, then gathers the sums; after sharded, parameters, too.
TEST(Quantized, SendsAQuarterOrAnEighthOfAllReduce) {
  for (const std::int64_t n : {2, 3, 4}) {
    for (const std::int64_t bits : {8, 4}) {
      const OptionValues options{{"bits", bits}};
      const Case test = case_of("all_reduce+quantized", n, options);
      const Sizes sizes = sizes_of(test, bits);
      const auto sent =
          static_cast<double>(expect_bytes(test, 2 * n * (n - 1) * sizes.part)) / (2 * (n - 1));
      const double share = sent / static_cast<double>(sizes.all);
      EXPECT_GT(share, static_cast<double>(bits) / 32 + 1.0 / 256);
      EXPECT_LT(share, static_cast<double>(bits) / 32 + 1.1 / 256) << n;
      expect_bytes(case_of("sharded+quantized", n, options),
                   2 * n * (n - 1) * sizes.part + (n - 1) * sizes.all);
    }
  }
  Case test = case_of("diloco+quantized", 3, {{"sync_every", 2}});
  test.steps = 4;
  expect_bytes(test, 3 * 2 * sizes_of(test, 8).part);
}

TEST(Quantized, LeavesTheSameParametersButOtherErrorsAtEveryWorker) {
  for (const char* strategy : {"all_reduce+quantized", "diloco+quantized"}) {
    Case test = case_of(strategy, 3, {});
    if (test.strategy.starts_with("diloco")) test.options["sync_every"] = 2;
    Trial trial(step_of(test), data_of(test.workload), options_of(test));
    int errors = 0;
    for (const Variable& variable : trial.graph().variables()) {
      if (variable.place.replica != 0) continue;
      const std::vector<float> first = values_at(trial, variable.name, 0);
      const std::vector<float> last = values_at(trial, variable.name, 2);
      if (variable.kind == VariableKind::Parameter) {
        EXPECT_EQ(first, last) << variable.name;
      } else if (variable.name.ends_with(".quantized_error")) {
        EXPECT_NE(first, last) << variable.name;
        ++errors;
      }
    }
    EXPECT_GT(errors, 5);
  }
}

/// Prints how far the parabola ends from all_reduce.
TEST(Quantized, Probe) {
  for (const std::int64_t n : {1, 2, 3, 5}) {
    for (const std::int64_t bits : {8, 4}) {
      for (const std::int64_t steps : {1, 20, 400}) {
        Case test = parabola("all_reduce+quantized", n, {{"bits", bits}});
        test.steps = steps;
        Case whole = parabola("all_reduce", n);
        whole.steps = steps;
        const Deviation found = deviation_of(test, whole);
        std::cout << n << ' ' << bits << ' ' << steps << ": " << found << " last "
                  << result_of(test).losses.back() << ' ' << result_of(whole).losses.back() << '\n';
      }
    }
  }
  for (const std::int64_t n : {2, 3}) {
    for (const std::int64_t bits : {8, 4}) {
      for (const std::int64_t steps : {1, 6}) {
        Case test = case_of("all_reduce+quantized", n, {{"bits", bits}});
        test.steps = steps;
        Case whole = case_of("all_reduce", n);
        whole.steps = steps;
        std::cout << n << ' ' << bits << ' ' << steps << ": " << deviation_of(test, whole) << '\n';
      }
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
