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

inline std::string name_of(const Case& test) {
  std::string options;
  for (const auto& [name, value] : test.options) options += name + "_" + to_text(value) + "_";
  return test.workload + "_" + identifier_of(test.strategy) + "_" + options +
         std::to_string(test.replicas) + "x" + std::to_string(test.stages) +
         (test.shards == 1 ? "" : "x" + std::to_string(test.shards)) + "_batch_" +
         std::to_string(test.global_batch) + "_" + std::string(to_string(test.element)) +
         (test.steps == 0 ? "" : "_steps_" + std::to_string(test.steps));
}

/// Returns an option's value: a whole number, one with a point, or a text.
inline OptionValue option_value_of(const std::string& text) {
  if (text.find_first_not_of("0123456789.") != text.npos) return text;
  if (text.find('.') != text.npos) return std::stod(text);
  return OptionValue(std::int64_t{std::stoll(text)});
}

/// Parses `WORKLOAD BATCH STRATEGY` and, in any order, `RxSxT` (replicas, stages, shards; the last
/// may be left out), `bf16`, `steps=N` and options.
inline Case case_of(const std::string& text) {
  std::istringstream words(text);
  Case test;
  words >> test.workload >> test.global_batch >> test.strategy;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (word == "bf16") {
      test.element = ElementType::BF16;
    } else if (equals == word.npos) {
      char x = 0;
      std::istringstream(word) >> test.replicas >> x >> test.stages >> x >> test.shards;
    } else if (word.starts_with("steps=")) {
      test.steps = std::stoll(word.substr(equals + 1));
    } else {
      test.options[word.substr(0, equals)] = option_value_of(word.substr(equals + 1));
    }
  }
  return test;
}

/// Expands each `{a,b}` of a text, as a shell does: one text for each combination of choices.
inline std::vector<std::string> expanded(const std::string& text) {
  const std::size_t begin = text.find('{'), end = text.find('}');
  if (begin == text.npos) return {text};
  std::vector<std::string> all;
  for (std::size_t at = begin; at < end;) {
    const std::size_t next = std::min(text.find(',', at + 1), end);
    const std::string choice = text.substr(at + 1, next - at - 1);
    for (std::string& each : expanded(text.substr(0, begin) + choice + text.substr(end + 1))) {
      all.push_back(std::move(each));
    }
    at = next;
  }
  return all;
}

/// Returns the expanded cases of `begin` and each text.
inline std::vector<Case> cases_of(const std::string& begin, const std::vector<std::string>& texts) {
  std::vector<Case> cases;
  for (const std::string& text : texts) {
    for (const std::string& each : expanded(begin + text)) cases.push_back(case_of(each));
  }
  return cases;
}

inline void append(const std::vector<Case>& more, std::vector<Case>& cases) {
  cases.insert(cases.end(), more.begin(), more.end());
}

/// Few steps for models of images: rounding grows with each step, but a wrong gradient is visible
/// after the first step.
inline std::int64_t steps_of(const Case& test) {
  if (test.steps != 0) return test.steps;
  if (test.workload.starts_with("parabola")) return 20;
  return test.workload == "airbench94_narrow" ? 3 : 2;
}

inline Step step_of(const Case& test) {
  constexpr std::int64_t kRecipeSteps = 2328;  // steps of the complete ResNet-9 recipe
  return training_of(test.workload, test.global_batch, kRecipeSteps, test.element);
}

inline TrialOptions options_of(const Case& test) {
  TrialOptions run;
  run.strategy = test.strategy;
  run.options.replicas = test.replicas;
  run.options.stages = test.stages;
  run.options.shards = test.shards;
  run.options.given = test.options;
  run.steps = steps_of(test);
  return run;
}

/// Returns the options of `STRATEGY` and the words of case_of() behind it.
inline TrialOptions trial_of(const std::string& text) {
  return options_of(case_of("parabola 50 " + text));
}

inline Case single_of(Case test) {
  test.strategy = "single";
  test.replicas = test.stages = test.shards = 1;
  test.options.clear();
  return test;
}

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
inline Deviation deviation(const Result& run, const Result& single, const Parameters& first) {
  Deviation result{.parameters = distance(run.parameters, single.parameters) /
                                 distance(single.parameters, first)};
  for (std::size_t k = 0; k < single.losses.size(); ++k) {
    const double expected = single.losses[k];
    result.losses =
        std::max(result.losses, std::abs(run.losses.at(k) - expected) / std::abs(expected));
  }
  return result;
}

inline Result result_of(const Step& step, const Case& test, const TrialOptions& options) {
  Trial trial(step, data_of(test.workload), options);
  return {.losses = trial.losses(), .parameters = trial.parameters()};
}

/// Runs the case again instead of using its kept result.
inline Result run_again(const Case& test) {
  return result_of(step_of(test), test, options_of(test));
}

/// The result of the case's first run, which is kept.
inline const Result& result_of(const Case& test) {
  static std::map<std::string, Result> results;
  const auto [at, is_new] = results.try_emplace(name_of(test));
  if (is_new) at->second = run_again(test);
  return at->second;
}

/// The deviation from `single` on the same batches.
inline Deviation deviation_from_single(const Case& test, const Result& run) {
  return deviation(run, result_of(single_of(test)), first_parameters(step_of(test)));
}

/// The permitted deviation; equivalence_test.cpp derives these bounds.
inline Deviation bounds_of(const Case& test) {
  if (test.workload.starts_with("parabola")) return {.losses = 1e-6, .parameters = 1e-5};
  if (is_language(test.workload) && test.element == ElementType::F32) {
    return {.losses = 1e-6, .parameters = test.workload == "gpt_context" ? 1e-3 : 1e-4};
  }
  if (test.strategy.find("context_parallel") != test.strategy.npos) {
    return {.losses = 1e-3, .parameters = 1e-3};  // in bf16
  }
  if (is_language(test.workload) && test.strategy.find("tensor_parallel") != test.strategy.npos) {
    return {.losses = 1e-3, .parameters = 5e-2};  // in bf16
  }
  if (test.workload == "mobilenet_v2_full_narrow") return {.losses = 1e-4, .parameters = 6e-2};
  if (test.workload == "airbench94_narrow") {
    return {.losses = 1e-3, .parameters = cpu::has_amx_bf16() ? 1e-1 : 3e-2};
  }
  return {.losses = test.element == ElementType::BF16 ? 1e-3 : 1e-4, .parameters = 1e-2};
}

inline std::ostream& operator<<(std::ostream& out, const Deviation& deviation) {
  return out << "losses " << deviation.losses << ", parameters " << deviation.parameters;
}

}  // namespace regatta::testing_support
