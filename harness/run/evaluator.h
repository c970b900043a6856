// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the parameters of a training run on the test set, on its own executor that uses all
// cores. The step's variables determine which values are evaluated (Judged in variable.h); on a GPU
// they are fetched without the host if each variable has one copy. A mean over replicas is weighted
// by their shares. If each replica trains its own model, every model is evaluated with its own
// parameters and statistics, and the result is their mean.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/run/trainer.h"
#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"
#include "workloads/workload.h"

namespace regatta {

struct Backend;

struct EvaluationResult {
  double loss = 0;            ///< mean over the examples, and over models
  double metric = 0;          ///< accuracy in percent, or the loss
  double parameter_norm = 0;  ///< Euclidean, of all parameters of a model together
  std::int64_t took_ns = 0;   ///< to fetch and evaluate the variables, without the norm
};

struct EvaluatorOptions {
  std::vector<int> cores;
  std::int64_t evaluations = 1;            ///< planned number
  int models = 1;                          ///< evaluated each time
  std::vector<std::int64_t> groups = {1};  ///< normalisation groups of each replica in a step
  LaunchSteps launch = LaunchSteps::ByKernel;
};

class Evaluator {
 public:
  Evaluator(const Workload& workload, const Step& evaluation, const DataSet& test,
            const Backend& backend, const EvaluatorOptions& options);

  /// Evaluates the current variables; not while `training` runs. Throws: RunError(Diverged) if the
  /// loss is not finite, or the error of `training` if it cannot deliver its variables.
  EvaluationResult judge(Trainer& training);
  std::int64_t planned_bytes() const { return executor_->planned_bytes(); }

 private:
  /// `fetched`: the variables of all models; fetched for the first model that needs them.
  EvaluationResult judge_model(Trainer& training, int model, std::vector<VariableCopy>& fetched);
  void adopt_variables(std::vector<VariableCopy> all, int model);
  /// Returns false if the host has to take part.
  bool copy_on_device(Trainer& training, int model);
  double parameter_norm();

  Metric metric_;
  std::vector<std::int64_t> groups_;  ///< by replica
  int models_ = 1;
  std::int64_t examples_ = 0;  ///< in the test set
  std::unique_ptr<Executor> executor_;
};

}  // namespace regatta
