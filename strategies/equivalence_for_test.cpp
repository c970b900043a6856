// SPDX-License-Identifier: Apache-2.0
#include "strategies/equivalence_for_test.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace regatta::testing_support {

std::string name_of(const Case& test) {
  std::string options;
  for (const auto& [name, value] : test.options) options += name + "_" + to_text(value) + "_";
  return test.workload + "_" + identifier_of(test.strategy) + "_" + options +
         std::to_string(test.replicas) + "x" + std::to_string(test.stages) +
         (test.shards == 1 ? "" : "x" + std::to_string(test.shards)) + "_batch_" +
         std::to_string(test.global_batch) + "_" + std::string(to_string(test.element)) +
         (test.steps == 0 ? "" : "_steps_" + std::to_string(test.steps));
}

OptionValue option_value_of(const std::string& text) {
  if (text.find_first_not_of("0123456789.") != text.npos) return text;
  if (text.find('.') != text.npos) return std::stod(text);
  return OptionValue(std::int64_t{std::stoll(text)});
}

Case case_of(const std::string& text) {
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

std::vector<std::string> expanded(const std::string& text) {
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

std::vector<Case> cases_of(const std::string& begin, const std::vector<std::string>& texts) {
  std::vector<Case> cases;
  for (const std::string& text : texts) {
    for (const std::string& each : expanded(begin + text)) cases.push_back(case_of(each));
  }
  return cases;
}

void append(const std::vector<Case>& more, std::vector<Case>& cases) {
  cases.insert(cases.end(), more.begin(), more.end());
}

std::int64_t steps_of(const Case& test) {
  if (test.steps != 0) return test.steps;
  if (test.workload.starts_with("parabola")) return 20;
  return test.workload == "airbench94_narrow" ? 3 : 2;
}

Step step_of(const Case& test) {
  constexpr std::int64_t kRecipeSteps = 2328;  // steps of the complete ResNet-9 recipe
  return training_of(test.workload, test.global_batch, kRecipeSteps, test.element);
}

TrialOptions options_of(const Case& test) {
  TrialOptions run;
  run.strategy = test.strategy;
  run.options.replicas = test.replicas;
  run.options.stages = test.stages;
  run.options.shards = test.shards;
  run.options.given = test.options;
  run.steps = steps_of(test);
  return run;
}

TrialOptions trial_of(const std::string& text) {
  return options_of(case_of("parabola 50 " + text));
}

Case single_of(Case test) {
  test.strategy = "single";
  test.replicas = test.stages = test.shards = 1;
  test.options.clear();
  return test;
}

Deviation deviation(const Result& run, const Result& single, const Parameters& first) {
  Deviation result{.parameters = distance(run.parameters, single.parameters) /
                                 distance(single.parameters, first)};
  for (std::size_t k = 0; k < single.losses.size(); ++k) {
    const double expected = single.losses[k];
    result.losses =
        std::max(result.losses, std::abs(run.losses.at(k) - expected) / std::abs(expected));
  }
  return result;
}

Result result_of(const Step& step, const Case& test, const TrialOptions& options) {
  Trial trial(step, data_of(test.workload), options);
  return {.losses = trial.losses(), .parameters = trial.parameters()};
}

Result run_again(const Case& test) { return result_of(step_of(test), test, options_of(test)); }

const Result& result_of(const Case& test) {
  static std::map<std::string, Result> results;
  const auto [at, is_new] = results.try_emplace(name_of(test));
  if (is_new) at->second = run_again(test);
  return at->second;
}

Deviation deviation_from_single(const Case& test, const Result& run) {
  return deviation(run, result_of(single_of(test)), first_parameters(step_of(test)));
}

Deviation bounds_of(const Case& test) {
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

std::ostream& operator<<(std::ostream& out, const Deviation& deviation) {
  return out << "losses " << deviation.losses << ", parameters " << deviation.parameters;
}

}  // namespace regatta::testing_support
