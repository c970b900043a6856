// SPDX-License-Identifier: Apache-2.0
//
// For tests of equivalence: the cases, their runs and the deviation from `single`. The first result
// of a case is kept, because several tests use it.
#pragma once

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/cpu/amx.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

struct Case {
  std::string workload;
  std::string strategy;
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t shards = 1;
  std::int64_t global_batch = 0;
  ElementType element = ElementType::F32;
  OptionValues options = {};
  std::int64_t steps = 0;  ///< 0: steps_of() decides
};

std::string name_of(const Case& test);

/// Returns an option's value: a whole number, one with a point, or a text.
OptionValue option_value_of(const std::string& text);

/// Parses `WORKLOAD BATCH STRATEGY` and, in any order, `RxSxT` (replicas, stages, shards; the last
/// may be left out), `bf16`, `steps=N` and options.
Case case_of(const std::string& text);

/// Expands each `{a,b}` of a text, as a shell does: one text for each combination of choices.
std::vector<std::string> expanded(const std::string& text);

/// Returns the expanded cases of `begin` and each text.
std::vector<Case> cases_of(const std::string& begin, const std::vector<std::string>& texts);

void append(const std::vector<Case>& more, std::vector<Case>& cases);

/// Few steps for models of images: rounding grows with each step, but a wrong gradient is visible
/// after the first step.
std::int64_t steps_of(const Case& test);

Step step_of(const Case& test);

TrialOptions options_of(const Case& test);

/// Returns the options of `STRATEGY` and the words of case_of() behind it.
TrialOptions trial_of(const std::string& text);

Case single_of(Case test);

/// The result of a run.
struct Result {
  std::vector<float> losses;
  Parameters parameters;
};

/// The relative deviation of one run from another.
struct Deviation {
  double losses = 0;      ///< largest over steps, relative to the step's loss
  double parameters = 0;  ///< relative to the change of the other's parameters
};

/// Deviation of `run` from `single`. Parameters are compared with their change since `first`: in a
/// few steps a wrong gradient is small beside a parameter, but large beside its change.
Deviation deviation(const Result& run, const Result& single, const Parameters& first);

Result result_of(const Step& step, const Case& test, const TrialOptions& options);

/// Runs the case again instead of using its kept result.
Result run_again(const Case& test);

/// The result of the case's first run, which is kept.
const Result& result_of(const Case& test);

/// The deviation from `single` on the same batches.
Deviation deviation_from_single(const Case& test, const Result& run);

/// The permitted deviation; equivalence_test.cpp derives these bounds.
Deviation bounds_of(const Case& test);

std::ostream& operator<<(std::ostream& out, const Deviation& deviation);

}  // namespace regatta::testing_support
