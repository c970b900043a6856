// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the parameters of a training run on the test set, on an executor of its own that uses
// all cores. The step's variables say what is judged (Judged in variable.h); on a GPU it is fetched
// without the host where there is one copy of each variable. A mean over replicas is weighted by
// their shares. Where replicas
// train a model each, every model is judged by its own parameters and statistics, and the result is
// their mean.
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
  std::int64_t took_ns = 0;   ///< to fetch the variables and evaluate them, without the norm
};

struct EvaluatorOptions {
  std::vector<int> cores;
  std::int64_t evaluations = 1;            ///< planned number
  int models = 1;                          ///< judged in each
  std::vector<std::int64_t> groups = {1};  ///< normalisation groups of each replica in a step
  LaunchSteps launch = LaunchSteps::ByKernel;
};

class Evaluator {
 public:
  Evaluator(const Workload& workload, const Step& evaluation, const DataSet& test,
            const Backend& backend, const EvaluatorOptions& options);

  /// Not while `training` runs. Throws: RunError(Diverged) when the loss is not finite, or the
  /// error of `training` when it cannot deliver its variables.
  EvaluationResult judge(Trainer& training);
  std::int64_t planned_bytes() const { return executor_->planned_bytes(); }

 private:
  /// `fetched`: variables of all models, fetched with the first that needs them.
  EvaluationResult judge_model(Trainer& training, int model, std::vector<VariableCopy>& fetched);
  void adopt_variables(std::vector<VariableCopy> all, int model);
  /// False where the host has to take part.
  bool copy_on_device(Trainer& training, int model);
  double parameter_norm();

  Metric metric_;
  std::vector<std::int64_t> groups_;  ///< by replica
  int models_ = 1;
  std::int64_t examples_ = 0;  ///< in the test set
  std::unique_ptr<Executor> executor_;
};

}  // namespace regatta
