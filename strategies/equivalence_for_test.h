// SPDX-License-Identifier: Apache-2.0
//
// For tests of equivalence: what is run under which strategy, and what comes of it. The first run
// of a case is kept, because most are looked at several times.
#pragma once

#include "strategies/test_support.h"

namespace regatta::testing_support {

struct Case {
  std::string workload;
  std::string strategy;
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t global_batch = 0;
  std::string all_reduce = "ring";
  ElementType element = ElementType::F32;
  std::int64_t servers = 1;
};

inline std::string name_of(const Case& test) {
  return test.workload + "_" + identifier_of(test.strategy) + "_" + test.all_reduce + "_" +
         std::to_string(test.replicas) + "x" + std::to_string(test.stages) + "_servers_" +
         std::to_string(test.servers) + "_batch_" + std::to_string(test.global_batch) + "_" +
         std::string(to_string(test.element));
}

/// Few where a step takes long, and where rates let roundings grow fast.
inline std::int64_t steps_of(const Case& test) {
  if (test.workload == "parabola") return 20;
  if (test.workload == "resnet9_thin") return 10;
  return test.workload == "mobilenet_v2_full_narrow" ? 2 : 4;
}

inline Step step_of(const Case& test) {
  constexpr std::int64_t kRecipeSteps = 2328;  // of the complete ResNet-9 recipe
  return training_of(test.workload, test.global_batch, kRecipeSteps, test.element);
}

inline TrialOptions options_of(const Case& test) {
  TrialOptions run;
  run.strategy = test.strategy;
  run.options.replicas = test.replicas;
  run.options.stages = test.stages;
  run.options.all_reduce = test.all_reduce;
  run.options.servers = test.servers;
  run.steps = steps_of(test);
  return run;
}

inline Case single_of(Case test) {
  test.strategy = "single";
  test.replicas = test.stages = test.servers = 1;
  test.all_reduce = "ring";
  return test;
}

/// What a run leaves.
struct Result {
  std::vector<float> losses;
  std::map<std::string, std::vector<float>> parameters;
};

inline Result result_of(const Step& step, const Case& test, const TrialOptions& options) {
  Trial trial(step, data_of(test.workload), options);
  return {.losses = trial.losses(), .parameters = trial.parameters()};
}

/// Of a run of its own.
inline Result run_again(const Case& test) {
  return result_of(step_of(test), test, options_of(test));
}

/// Of the case's first run.
inline const Result& result_of(const Case& test) {
  static std::map<std::string, Result> results;
  const auto [at, is_new] = results.try_emplace(name_of(test));
  if (is_new) at->second = run_again(test);
  return at->second;
}

}  // namespace regatta::testing_support
